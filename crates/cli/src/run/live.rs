//! Looks at the ledgers of running processes for real deadlocks, and ends them if wanted.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{self, finding_kind, mode, thread_state};

use super::output::Output;
use crate::analysis;
use crate::args::OnDeadlock;
use crate::error::{Error, Result};
use crate::finding::{Finding, Grade, Report};
use crate::ledger_dir::{ledgers_in, writer_of, writer_of_annex};
use crate::progress::Silent;

/// How long a program's own handler of SIGABRT may take. As in abort(3), it must not return.
const ABORT_PATIENCE: Duration = Duration::from_secs(2);

/// Where a ledger is: a file, and which part of it (`Ledger::open_part`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    path: PathBuf,
    part: u32,
}

impl Place {
    fn open(&self) -> Option<Ledger> {
        Ledger::open_part(&self.path, self.part).ok()
    }

    /// The process that writes there, as far as it can be known.
    fn writer(&self) -> Option<u32> {
        match self.part {
            0 => writer_of(&self.path),
            part => writer_of_annex(&self.path, part, self.open()?.header().pid),
        }
    }
}

/// Deadlocks seen so far.
#[derive(Debug, Default)]
pub struct Deadlocks {
    counted: HashMap<Place, u32>,
    /// Ledgers with a new deadlock, and who hung in it when they were last looked at.
    suspected: HashMap<Place, Vec<Hang>>,
    told: Vec<Told>,
    /// There were ledgers to look at.
    saw_ledgers: bool,
    aborted: Vec<Aborted>,
}

/// A deadlock that was told, and the token of the ledger that has it.
#[derive(Debug)]
struct Told {
    token: Option<u64>,
    finding: Finding,
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
    /// Ledgers in which threads newly hang, and have not moved since the last call: a process is ended
    /// for what stands still, not for what it got out of. Cheap as long as there is nothing: reads one
    /// word of each ledger.
    pub fn poll(&mut self, dir: &Path) -> Vec<Place> {
        for path in ledgers_in(dir).unwrap_or_default() {
            self.saw_ledgers = true;
            // A ledger that is being born cannot be read yet; the next call will see it.
            let counts = Ledger::peek_deadlocks(&path).unwrap_or_default();
            for (part, now) in (0..).zip(counts).filter(|&(_, now)| now > 0) {
                let place = Place { path: path.clone(), part };
                if self.counted.insert(place.clone(), now).unwrap_or(0) < now {
                    self.suspected.entry(place).or_default();
                }
            }
        }
        let mut certain = Vec::new();
        self.suspected.retain(|place, before| {
            let now = place.open().map(|ledger| hangs(&ledger)).unwrap_or_default();
            let same = now.iter().any(|hang| before.contains(hang));
            if same {
                certain.push(place.clone());
            }
            *before = now;
            !same && !before.is_empty()
        });
        certain
    }

    /// Reports the deadlocks in a live ledger and does what is to be done about its process.
    /// `program` stands in where the ledger does not tell which process that is.
    ///
    /// # Errors
    /// If the report cannot be written.
    pub fn handle(
        &mut self,
        ledger: &Place,
        program: u32,
        action: OnDeadlock,
        output: &mut Output,
    ) -> Result<()> {
        let ledgers: Vec<Ledger> = ledger.open().into_iter().collect();
        let mut report = analysis::analyse(&ledgers, &Silent);
        let untold = |f: &Finding| f.grade == Grade::Deadlocked && !self.has_told(&report, f);
        report.findings = report.findings.iter().filter(|f| untold(f)).cloned().collect();
        // Whom else it holds up may not have come there yet: that is for the end.
        report.waiting.clear();
        // What the user knows is not shown, but that the process hangs is told all the same.
        let counts = output.judge(&report).counted().next().is_some();
        let shown = if counts { output.show(&report, |_| true) } else { Ok(()) };
        let told = |finding: &Finding| Told {
            token: token_of(&report, finding),
            finding: finding.clone(),
        };
        self.told.extend(output.judge(&report).counted().map(told));
        let pid = ledger.writer().unwrap_or(program);
        output.note(&act(pid, action));
        if action == OnDeadlock::Abort {
            let ledger = ledger.clone();
            self.aborted.push(Aborted { pid, ledger, when: Instant::now() });
        }
        shown
    }

    /// Kills what has outlived its SIGABRT: whoever catches or blocks that and goes on would hang for
    /// ever. A core file in the making is let finish.
    pub fn follow_up(&mut self, output: &Output) {
        self.aborted.retain(|aborted| {
            if aborted.when.elapsed() < ABORT_PATIENCE {
                return true;
            }
            if aborted.ledger.writer() == Some(aborted.pid) && withstands_abort(aborted.pid) {
                output.note(&act(aborted.pid, OnDeadlock::Kill).note("SIGABRT did not end it"));
            }
            false
        });
    }

    /// Whether any ledger was there at one of the looks.
    pub fn saw_ledgers(&self) -> bool {
        self.saw_ledgers
    }

    /// Whether anything was told.
    pub fn any_told(&self) -> bool {
        !self.told.is_empty()
    }

    /// A finding is known by its process, and by what its reader sees of it first.
    pub fn has_told(&self, report: &Report, finding: &Finding) -> bool {
        let token = token_of(report, finding);
        self.told.iter().any(|Told { token: of, finding: told }| {
            (*of, told.kind, told.grade, &told.title)
                == (token, finding.kind, finding.grade, &finding.title)
        })
    }
}

fn token_of(report: &Report, finding: &Finding) -> Option<u64> {
    report.process_of(finding).map(|process| process.token)
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

fn act(pid: u32, action: OnDeadlock) -> Error {
    let told = |what: &str| Error::new(format!("process {pid} has deadlocked: {what}"));
    let signal = match action {
        OnDeadlock::Report => {
            return told("left hanging (--on-deadlock=report)")
                .help(format!("look into it with `gdb -p {pid}`; end it with `kill {pid}`"));
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
    if action == OnDeadlock::Abort {
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

    /// Bytes of a ledger with a deadlock on record, of two threads with these `wait_seq`.
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
            let step = rows::Step { thread, addr, mode: mode.into(), ..Default::default() };
            let step = writer.push(step).unwrap();
            first_step = if first_step == 0 { step } else { first_step };
        }
        let kind = finding_kind::DEADLOCK;
        writer.push(rows::Finding { kind, first_step, steps: 2, ..Default::default() }).unwrap();
        // SAFETY: the buffer above, which the writer no longer changes.
        unsafe { std::slice::from_raw_parts(at, BYTES) }.to_vec()
    }

    #[test]
    fn a_deadlock_is_acted_on_once_it_stood_still_for_a_while() {
        let dir = std::env::temp_dir().join(format!("lockwright-live-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("1-00.lwl");
        // What a sequence of looks at the ledger says, with one deadlock counted.
        let looks = |ledgers: &[([u32; 2], u16)]| -> Vec<bool> {
            let mut deadlocks = Deadlocks::default();
            let look = |&(waits, mode): &([u32; 2], u16)| {
                let mut bytes = deadlocked(waits, mode);
                let count = std::mem::offset_of!(lockwright_ledger::Header, deadlocks);
                bytes[count..count + 4].copy_from_slice(&1u32.to_ne_bytes());
                std::fs::write(&path, bytes).unwrap();
                !deadlocks.poll(&dir).is_empty()
            };
            ledgers.iter().map(look).collect()
        };
        assert_eq!(looks(&[([1, 5], 0); 3]), [false, true, false], "once");
        assert_eq!(looks(&[([1, 5], 0), ([1, 6], 0), ([1, 6], 0)]), [false; 3], "it got out");
        assert_eq!(looks(&[([1, 5], 0), ([1, 7], 0), ([1, 7], 0)]), [false, false, true], "again");
        assert_eq!(looks(&[([1, 5], mode::TIMED); 2]), [false; 2], "it will back out");
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
