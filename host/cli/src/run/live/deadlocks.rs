//! Looks at the ledgers of running processes for real deadlocks, and ends them if wanted.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{self, finding_kind, mode, thread_state};

use super::commands::Commands;
use super::place::Place;
use super::told::{Told, ToldFindings};
use crate::args::OnDeadlock;
use crate::run::clocks::monotonic_ns;
use crate::run::hang::asleep::Asleep;
use crate::run::hang::outlook::{Outlook, Scene};
use crate::run::hang::tasks::{self, Switches};
use crate::run::output::Output;
use lockwright_analysis::analyse;
use lockwright_analysis::attached::asleep;
use lockwright_analysis::finding::{Finding, Grade, Instances, Process, Report};
use lockwright_analysis::model::threads_by_id;
use lockwright_analysis::progress::Silent;
use lockwright_console::error::{Error, Result};
use lockwright_report::json::{self, Event};

/// How long a program's own handler of SIGABRT may take. As in abort(3), it must not return.
const ABORT_PATIENCE: Duration = Duration::from_secs(2);

/// How long nothing that is known could end a deadlock before it counts as final: long enough for a
/// thread that was on its way.
const GRACE: Duration = Duration::from_secs(2);

/// How long to wait for what would have to come from outside of the process, while nothing in it
/// moves. A deadlock that stands for so long is reported in any case.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long one stands that the threads were led into, until it is final whatever else the process does: the cycle is known.
const STEERED: Duration = Duration::from_secs(5);

/// The longest time between two looks at a deadlock that stands.
const RAREST_LOOK: Duration = Duration::from_secs(2);

/// Deadlocks seen so far.
#[derive(Debug, Default)]
pub struct Deadlocks {
    counted: HashMap<Place, u32>,
    /// Ledgers with a deadlock that may stand yet.
    suspected: HashMap<Place, Suspect>,
    /// Processes in which every thread waits, which no ledger has as a finding.
    asleep: Vec<Told>,
    /// There were ledgers to look at.
    saw_ledgers: bool,
    aborted: Vec<Aborted>,
    /// Threads are led into them.
    are_steered: bool,
}

/// A ledger with deadlocks that stand.
#[derive(Debug)]
struct Suspect {
    /// They, and which waits they are made of.
    hangs: Vec<Hang>,
    /// Since when there is one.
    since: Instant,
    /// Since when nothing in the process could end them.
    quiet: Instant,
    next_look: Instant,
    switches: Switches,
    others: HashMap<u32, Switches>,
    is_told: bool,
}

impl Suspect {
    fn new(now: Instant) -> Self {
        Self {
            hangs: Vec::new(),
            since: now,
            quiet: now,
            next_look: now,
            switches: Switches::default(),
            others: HashMap::new(),
            is_told: false,
        }
    }
}

/// A ledger with deadlocks that stand, and what is to be done.
#[derive(Debug)]
pub struct Standing {
    ledger: Place,
    /// What could still end them; `None`: they are final.
    hope: Option<String>,
}

/// What deadlocks lead to.
pub struct Acting<'a> {
    /// What to do with the process.
    pub on_deadlock: &'a OnDeadlock,
    /// The command for findings.
    pub on_finding: Option<&'a str>,
    /// What was reported.
    pub told: &'a mut ToldFindings,
    /// Runs commands.
    pub commands: &'a mut Commands,
}

/// A process that was sent SIGABRT.
#[derive(Debug)]
struct Aborted {
    pid: u32,
    ledger: Place,
    when: Instant,
}

/// A recorded deadlock in which each thread still waits: which wait of its it is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hang {
    finding: u32,
    waits: Vec<u32>,
}

impl Deadlocks {
    /// None yet. `are_steered`: threads are led into them.
    pub fn new(are_steered: bool) -> Self {
        Self { are_steered, ..Self::default() }
    }

    /// Ledgers with deadlocks that stand, and are to be reported, or are final, of those in `places`. Cheap as long as
    /// there is nothing.
    pub fn poll(&mut self, places: &[(Place, u32)]) -> Vec<Standing> {
        for &(ref place, now) in places {
            self.saw_ledgers = true;
            if now > 0 && self.counted.insert(place.clone(), now).unwrap_or(0) < now {
                self.suspected.entry(place.clone()).or_insert_with(|| Suspect::new(Instant::now()));
            }
        }
        let now = Instant::now();
        let mut standing = Vec::new();
        let longest = self.are_steered.then_some(STEERED);
        self.suspected.retain(|place, suspect| {
            if now < suspect.next_look {
                return true;
            }
            let Some(ledger) = place.open() else { return false };
            let hope = suspect.look(&ledger, place.writer(), now, longest);
            let known = |hope| Standing { ledger: place.clone(), hope };
            match hope {
                Hope::Over => false,
                Hope::Final => {
                    standing.push(known(None));
                    false
                }
                Hope::Told(why) => {
                    standing.push(known(Some(why)));
                    true
                }
                Hope::Wait => true,
            }
        });
        standing
    }

    /// Reports the deadlocks in a live ledger and, if they are final, does what is to be done about
    /// its process. `program` stands in where the ledger does not tell which process that is.
    ///
    /// # Errors
    /// If the report cannot be written.
    pub fn handle(
        &mut self,
        standing: &Standing,
        program: u32,
        acting: &mut Acting<'_>,
        output: &mut Output,
    ) -> Result<()> {
        let Standing { ledger, hope } = standing;
        let ledgers: Vec<Ledger> = ledger.open().into_iter().collect();
        let mut report = analyse(&ledgers, Instances::Folded, &Silent);
        report.findings.retain(|finding| finding.grade == Grade::Deadlocked);
        let all = report.clone();
        let is_new = acting.told.outcome(&all).is_new;
        let mut is_new = is_new.into_iter();
        report.findings.retain(|_| is_new.next().unwrap_or(true));
        // Other threads that it will block may not have come there yet: the report at the end has
        // them.
        report.waiting.clear();
        // Findings that the user knows are not shown, but the hang is reported all the same.
        let counts = output.judge(&report).counted().next().is_some();
        let shown = if counts { output.show(&report, |_| true) } else { Ok(()) };
        acting.tell(&report, output);
        // What another user may have written is nothing to end the program for.
        let own = ledger.is_own().then_some(program);
        let Some(pid) = ledger.writer().or(own) else { return shown };
        if let Some(why) = hope {
            output.note(
                &Error::new(format!("process {pid} has deadlocked, and may still go on: {why}"))
                    .help(format!("look into it with `gdb -p {pid}`; end it with `kill {pid}`")),
            );
            return shown;
        }
        output.note(&act(pid, acting.on_deadlock));
        acting.run_command(&all, output);
        if *acting.on_deadlock == OnDeadlock::Abort {
            let ledger = ledger.clone();
            self.aborted.push(Aborted { pid, ledger, when: Instant::now() });
        }
        shown
    }

    /// Reports a process in which every thread waits for ever, and does what is to be done about it. Nothing where a deadlock
    /// of it stands, or it was reported before.
    ///
    /// # Errors
    /// If the report cannot be written.
    pub fn conclude(
        &mut self,
        asleep: &Asleep,
        acting: &mut Acting<'_>,
        output: &mut Output,
    ) -> Result<()> {
        let place = Place::first_of(&asleep.ledger);
        let Some(ledger) = place.open() else { return Ok(()) };
        let token = ledger.header().token;
        // A cycle says more, and is final soon for the same reason.
        let is_it = |told: &Told| told.token() == Some(token);
        if !hangs(&ledger).is_empty() || self.asleep.iter().any(is_it) {
            return Ok(());
        }
        let known = threads_by_id(&ledger);
        let mut report = analyse(&[ledger], Instances::Folded, &Silent);
        let finding = asleep::finding(&report, 0, &asleep.threads, &known);
        report.findings = vec![finding.clone()];
        report.waiting.clear();
        let counts = output.judge(&report).counted().next().is_some();
        let shown = if counts { output.show(&report, |_| true) } else { Ok(()) };
        acting.tell(&report, output);
        self.asleep.push(Told::new(&report, &finding));
        output.note(&act(asleep.pid, acting.on_deadlock));
        acting.run_command(&report, output);
        if *acting.on_deadlock == OnDeadlock::Abort {
            self.aborted.push(Aborted { pid: asleep.pid, ledger: place, when: Instant::now() });
        }
        shown
    }

    /// Adds to the report of the end what no ledger has: the processes in which every thread waited, unless they have gone on.
    pub fn tell(&self, report: &mut Report) {
        for told in &self.asleep {
            let is_it = |process: &Process| Some(process.token) == told.token();
            let Some(number) = report.processes.iter().position(is_it) else { continue };
            if !report.processes[number].end.is_exit() {
                let finding = Finding { process: Some(number), ..told.finding.clone() };
                report.findings.insert(0, finding);
                let of_it = report.waiting.iter_mut().filter(|it| it.process == number);
                of_it.for_each(|waiting| waiting.is_told = true);
            }
        }
    }

    /// Kills what has outlived its SIGABRT: a process that catches or blocks that and goes on would
    /// hang for ever. A core file in the making is let finish.
    pub fn follow_up(&mut self, output: &Output) {
        self.aborted.retain(|aborted| {
            if aborted.when.elapsed() < ABORT_PATIENCE {
                return true;
            }
            if aborted.ledger.writer() == Some(aborted.pid) && withstands_abort(aborted.pid) {
                output.note(&act(aborted.pid, &OnDeadlock::Kill).note("SIGABRT did not end it"));
            }
            false
        });
    }

    /// Whether any ledger was there at one of the looks.
    pub fn saw_ledgers(&self) -> bool {
        self.saw_ledgers
    }
}

impl Acting<'_> {
    /// The findings of the report that count were shown.
    fn tell(&mut self, report: &Report, output: &Output) {
        let judged = output.judge(report);
        for finding in judged.counted() {
            self.told.add(report, finding);
            if let Some(command) = self.on_finding {
                let input = json::finding_event(Event::Finding, &judged, finding);
                self.commands.run("--on-finding", command, input);
            }
        }
    }

    /// Runs the user's command for the deadlocks of a report, if that is what to do.
    fn run_command(&mut self, report: &Report, output: &Output) {
        if let OnDeadlock::Exec(command) = self.on_deadlock {
            let judged = output.judge(report);
            for finding in &report.findings {
                let input = json::finding_event(Event::Deadlock, &judged, finding);
                self.commands.run("--on-deadlock", command, input);
            }
        }
    }
}

/// What a look at a suspect says.
enum Hope {
    /// No deadlock stands any more.
    Over,
    /// It may go on: not to be reported yet, or reported already.
    Wait,
    /// It may go on for this reason, but has stood for long: to be reported.
    Told(String),
    /// It will not go on.
    Final,
}

impl Suspect {
    /// Looks at the deadlocks in `ledger`, which process `pid` writes. One that has stood for the `longest` time is final.
    fn look(
        &mut self,
        ledger: &Ledger,
        pid: Option<u32>,
        now: Instant,
        longest: Option<Duration>,
    ) -> Hope {
        let hangs = hangs(ledger);
        let stands = hangs.iter().any(|hang| self.hangs.contains(hang));
        self.hangs = hangs;
        if self.hangs.is_empty() {
            return Hope::Over;
        }
        if !stands {
            (self.since, self.quiet) = (now, now);
        }
        let outlook = pid.map_or(Outlook::Final, |pid| self.outlook(ledger, pid));
        if matches!(outlook, Outlook::Inside(_)) {
            self.quiet = now;
        }
        let (stood, quiet) = (now - self.since, now - self.quiet);
        self.next_look = now + (stood / 4).min(RAREST_LOOK);
        match outlook {
            _ if longest.is_some_and(|longest| stood >= longest) => Hope::Final,
            Outlook::Final if quiet >= GRACE => Hope::Final,
            Outlook::Outside(_) if quiet >= PATIENCE => Hope::Final,
            Outlook::Inside(why) | Outlook::Outside(why) if stood >= PATIENCE && !self.is_told => {
                self.is_told = true;
                Hope::Told(why)
            }
            _ => Hope::Wait,
        }
    }

    /// What could still end them.
    fn outlook(&mut self, ledger: &Ledger, pid: u32) -> Outlook {
        let steps = self.hangs.iter().filter_map(|hang| ledger.get::<rows::Finding>(hang.finding));
        let steps = steps.flat_map(|row| row.first_step..row.first_step.saturating_add(row.steps));
        let steps: Vec<rows::Step> = steps.filter_map(|step| ledger.get(step)).collect();
        let others_run = tasks::others_run(pid, &mut self.others);
        let tasks = tasks::of_process(pid, &mut self.switches);
        let scene =
            Scene { ledger, tasks: &tasks, steps: &steps, now_ns: monotonic_ns(), others_run };
        scene.outlook()
    }
}

/// The recorded deadlocks whose threads all wait yet, for good.
fn hangs(ledger: &Ledger) -> Vec<Hang> {
    let deadlocks = ledger.rows::<rows::Finding>().filter(|(_, row)| {
        matches!(row.kind, finding_kind::DEADLOCK | finding_kind::SELF_DEADLOCK)
    });
    deadlocks
        .filter_map(|(finding, row)| {
            let steps = row.first_step..row.first_step.checked_add(row.steps)?;
            let waits = steps.map(|step| wait_of(ledger, step)).collect::<Option<Vec<_>>>()?;
            (!waits.is_empty()).then_some(Hang { finding, waits })
        })
        .collect()
}

/// The number of the wait that the thread of `step` is in, if it is still that of the deadlock and
/// does not end by itself.
fn wait_of(ledger: &Ledger, step: u32) -> Option<u32> {
    let step = ledger.get::<rows::Step>(step)?;
    let thread = ledger.get::<rows::Thread>(step.thread)?;
    let waits = thread.state == thread_state::LIVE
        && thread.wait_seq & 1 == 1
        && thread.wait_addr == step.addr
        && thread.wait_seq == step.wait_seq
        && step.mode & u32::from(mode::TIMED) == 0;
    waits.then_some(thread.wait_seq)
}

/// Whether the process catches, ignores or blocks SIGABRT, and is not about to leave a core file.
fn withstands_abort(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    withstands(&status, libc::SIGABRT)
}

/// As [`withstands_abort`], from the text of `/proc/<pid>/status`.
fn withstands(status: &str, signal: i32) -> bool {
    let field = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    };
    let in_set = |name| {
        let set = field(name).and_then(|set| u64::from_str_radix(set, 16).ok()).unwrap_or(0);
        set & (1 << (signal - 1)) != 0
    };
    field("CoreDumping") != Some("1") && ["SigCgt", "SigIgn", "SigBlk"].into_iter().any(in_set)
}

fn act(pid: u32, action: &OnDeadlock) -> Error {
    let told = |what: &str| Error::new(format!("process {pid} has deadlocked: {what}"));
    let signal = match action {
        OnDeadlock::Report => {
            return told("left hanging (--on-deadlock=report)")
                .help(format!("look into it with `gdb -p {pid}`; end it with `kill {pid}`"));
        }
        OnDeadlock::Exec(_) => {
            return told("left hanging, and a command is run (--on-deadlock=exec)")
                .help(format!("end it with `kill {pid}`"));
        }
        OnDeadlock::Kill => libc::SIGKILL,
        OnDeadlock::Abort => libc::SIGABRT,
    };
    // SAFETY: the process has the ledger mapped, or is our unreaped child.
    if unsafe { libc::kill(pid as libc::pid_t, signal) } != 0 {
        let error = std::io::Error::last_os_error();
        return told(&format!("cannot end it: {error}"))
            .help(format!("end it with `kill -9 {pid}`, as its user"));
    }
    if *action == OnDeadlock::Abort {
        told("ended by SIGABRT (--on-deadlock=abort)")
    } else {
        told("killed (--on-deadlock=kill)").help(
            "--on-deadlock=report leaves it hanging, for a debugger; abort leaves a core file",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwright_ledger::Writer;
    use lockwright_ledger::layout::PAGE;

    /// Bytes of a ledger with a recorded deadlock, of two threads with these `wait_seq`.
    fn deadlocked(waits: [u32; 2], mode: u16) -> Vec<u8> {
        const BYTES: usize = 400 * PAGE;
        let words = vec![0u64; BYTES / 8 + PAGE / 8].leak();
        let at = words.as_mut_ptr().map_addr(|at| at.next_multiple_of(PAGE)).cast::<u8>();
        // SAFETY: zeroed, aligned, and never freed.
        let mut writer = unsafe { Writer::create(at, BYTES, |_, _| Ok(()), |_| {}) }.unwrap();
        let mut first_step = 0;
        for (addr, wait_seq) in [0x10, 0x20].into_iter().zip(waits) {
            let thread = rows::Thread { wait_seq, wait_addr: addr, ..Default::default() };
            let thread = writer.push_with_state(thread, thread_state::LIVE).unwrap();
            let mode = mode.into();
            let step = rows::Step { thread, addr, mode, wait_seq, ..Default::default() };
            let step = writer.push(step).unwrap();
            first_step = if first_step == 0 { step } else { first_step };
        }
        let kind = finding_kind::DEADLOCK;
        writer.push(rows::Finding { kind, first_step, steps: 2, ..Default::default() }).unwrap();
        // SAFETY: the buffer above, which the writer no longer changes.
        unsafe { std::slice::from_raw_parts(at, BYTES) }.to_vec()
    }

    #[test]
    fn a_deadlock_is_final_once_nothing_could_end_it_for_a_while() {
        let dir = std::env::temp_dir().join(format!("lockwright-live-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("1-00.lwl");
        // Whether one is final at looks that many milliseconds from the first.
        let looks = |looks: &[(u64, [u32; 2], u16)]| -> Vec<bool> {
            let start = Instant::now();
            let mut suspect = Suspect::new(start);
            let look = |&(ms, waits, mode): &(u64, [u32; 2], u16)| {
                std::fs::write(&path, deadlocked(waits, mode)).unwrap();
                let ledger = Ledger::open(&path).unwrap();
                let hope = suspect.look(&ledger, None, start + Duration::from_millis(ms), None);
                matches!(hope, Hope::Final)
            };
            looks.iter().map(look).collect()
        };
        let stays = [1, 5];
        assert_eq!(
            looks(&[(0, stays, 0), (1900, stays, 0), (2100, stays, 0)]),
            [false, false, true]
        );
        assert_eq!(looks(&[(0, stays, 0), (2100, [1, 6], 0)]), [false; 2], "it got out");
        assert_eq!(
            looks(&[(0, stays, 0), (2100, [1, 7], 0), (4000, [1, 7], 0), (4200, [1, 7], 0)]),
            [false, false, false, true],
            "again"
        );
        assert_eq!(looks(&[(0, stays, mode::TIMED), (2100, stays, mode::TIMED)]), [false; 2]);
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn who_withstands_an_abort() {
        let status = |caught: &str, dumping: &str| {
            format!(
                "Name:\tx\nCoreDumping:\t{dumping}\nSigBlk:\t0000000000000000\nSigCgt:\t{caught}\n"
            )
        };
        let abrt = "0000000000000020";
        assert!(withstands(&status(abrt, "0"), libc::SIGABRT));
        assert!(!withstands(&status(abrt, "1"), libc::SIGABRT));
        assert!(!withstands(&status("0000000000000040", "0"), libc::SIGABRT));
        assert!(!withstands("", libc::SIGABRT));
    }
}
