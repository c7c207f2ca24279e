//! Threads that run all along and never sleep, while they neither take nor release a lock that is
//! watched: of a program that hangs, those may wait in a loop of their own, for a lock that is made
//! of atomics. Or they calculate: from here the two look the same, until it is seen where they loop.
//! And threads that sleep all along, for a descriptor perhaps: those are seen here, too.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lockwright_analysis::finding::Report;
use lockwright_analysis::finding::doing::{Blocked, Busy};
use lockwright_analysis::symbolize::Symbols;
use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{Thread, thread_state};

use super::blocked::Descriptors;
use super::loops::{self, Sample};
use crate::ledger_dir::{glance_at, is_own, writer_of};

/// Time between two looks.
const INTERVAL: Duration = Duration::from_secs(1);

/// Looks take no more than this part of the time.
const SHARE: u32 = 100;

/// Looks at the threads of a run's processes.
#[derive(Debug, Default)]
pub struct BusyThreads {
    next: Option<Instant>,
    processes: HashMap<PathBuf, Process>,
    /// For how long a lock is waited for before it is a hang, and threads may be stopped.
    hang_after: Option<Duration>,
}

/// The threads of one process.
#[derive(Debug, Default)]
struct Process {
    /// The last look, and each thread then.
    last: Option<(Instant, HashMap<u32, Task>)>,
    /// Busy threads by id, and since when.
    busy: HashMap<u32, Since>,
    /// Threads by id that have slept since the look before: how often each had gone to sleep until
    /// then, its row when that was seen first, and what it is blocked in.
    asleep: HashMap<u32, Asleep>,
    /// By thread id and number of the wait: since when it was seen at each look.
    waits: HashMap<(u32, u32), Instant>,
    /// By thread id: where busy threads were, and what their rows had then.
    samples: HashMap<u32, (Locks, Vec<Sample>)>,
}

/// A thread that has not been on a processor from one look to the next.
#[derive(Clone, Debug)]
struct Asleep {
    sleeps: u64,
    locks: Option<Locks>,
    blocked: Option<Blocked>,
}

/// A thread that has been busy at each look from one on.
#[derive(Clone, Copy, Debug)]
struct Since {
    /// What its row had then.
    locks: Locks,
    /// That look.
    from: Instant,
    /// Its CPU time then.
    cpu: Duration,
}

/// What the kernel has of a thread.
#[derive(Clone, Copy, Debug)]
struct Task {
    /// CPU time in user mode.
    cpu: Duration,
    /// How often it has gone to sleep.
    sleeps: u64,
    /// It sleeps.
    is_asleep: bool,
}

/// What of a thread's row changes with whatever it does to a lock: acquisitions, waits, and the
/// place of the innermost held lock.
type Locks = (u64, u32, u64);

impl BusyThreads {
    /// With `hang_after`, where a busy thread loops is seen once a lock that it holds was waited for
    /// so long.
    pub fn new(hang_after: Option<Duration>) -> Self {
        Self { hang_after, ..Self::default() }
    }

    /// Looks, if it is time to.
    pub fn poll(&mut self, dir: &Path) {
        let now = Instant::now();
        if self.next.is_some_and(|next| now < next) {
            return;
        }
        for (path, _) in glance_at(dir).unwrap_or_default() {
            let Some(pid) = writer_of(&path) else { continue };
            let process = self.processes.entry(path.clone()).or_default();
            let open = || Ledger::open(&path).ok().map_or_else(HashMap::new, |it| locks_of(&it));
            process.look(now, tasks_of(pid), open);
            process.see_blocked(pid, open);
            // What another user may have written is nothing to stop a thread for.
            if let Some(patience) = self.hang_after.filter(|_| is_own(&path)) {
                let hung = || Ledger::open(&path).map_or_else(|_| Vec::new(), |it| held_up(&it));
                if process.sample(now, patience, hung) {
                    process.overlook_stops(&tasks_of(pid));
                }
            }
        }
        self.next = Some(now + INTERVAL.max(now.elapsed() * SHARE));
    }

    /// Marks the holders in the report that have been busy up to the end.
    pub fn tell(&self, report: &mut Report) {
        let tokens: Vec<u64> = report.processes.iter().map(|process| process.token).collect();
        let has_seen = |it: &Process| !it.busy.is_empty() || !it.asleep.is_empty();
        for (path, process) in self.processes.iter().filter(|(_, it)| has_seen(it)) {
            let Ok(ledger) = Ledger::open(path) else { continue };
            let (token, locks) = (ledger.header().token, locks_of(&ledger));
            let of_it = |number: usize| tokens.get(number) == Some(&token);
            for waiting in report.waiting.iter_mut().filter(|waiting| of_it(waiting.process)) {
                for holder in &mut waiting.holders {
                    let tid = holder.thread.tid;
                    let now = locks.get(&tid);
                    holder.busy = process.busy_until_the_end(tid, now);
                    holder.blocked = process.blocked_until_the_end(tid, now);
                    if let Some(busy) = &mut holder.busy {
                        let samples = process.samples_of(tid, now);
                        busy.loops_in = loops::common(samples, &Symbols::new(&ledger));
                    }
                }
            }
        }
    }
}

impl Process {
    /// Looks at the threads, and, where one has run and not slept since the last time, at `locks`.
    /// How much it has run says nothing: there may be more threads than processors.
    fn look(
        &mut self,
        now: Instant,
        tasks: HashMap<u32, Task>,
        locks: impl FnOnce() -> HashMap<u32, Locks>,
    ) {
        if let Some((_, before)) = &self.last {
            let is_busy = |tid: &u32| {
                let both = tasks.get(tid).zip(before.get(tid));
                both.is_some_and(|(now, then)| now.cpu > then.cpu && now.sleeps == then.sleeps)
            };
            let busy: Vec<u32> = tasks.keys().copied().filter(is_busy).collect();
            let locks = if busy.is_empty() { HashMap::new() } else { locks() };
            let was = std::mem::take(&mut self.busy);
            for tid in busy {
                let Some(&locks) = locks.get(&tid) else { continue };
                let known = was.get(&tid).filter(|since| since.locks == locks);
                let new = Since { locks, from: now, cpu: tasks[&tid].cpu };
                self.busy.insert(tid, known.copied().unwrap_or(new));
            }
            let mut slept = std::mem::take(&mut self.asleep);
            for (&tid, now) in &tasks {
                let same = |then: &Task| (then.cpu, then.sleeps) == (now.cpu, now.sleeps);
                if now.sleeps > 0 && now.is_asleep && before.get(&tid).is_some_and(same) {
                    let new = Asleep { sleeps: now.sleeps, locks: None, blocked: None };
                    let known = slept.remove(&tid).filter(|known| known.sleeps == now.sleeps);
                    self.asleep.insert(tid, known.unwrap_or(new));
                }
            }
        }
        self.last = Some((now, tasks));
    }

    /// How busy the thread was, if its row is still as it was at the first look.
    fn busy_until_the_end(&self, tid: u32, locks: Option<&Locks>) -> Option<Busy> {
        let since = self.busy.get(&tid).filter(|since| locks == Some(&since.locks))?;
        let (last, tasks) = self.last.as_ref()?;
        let of = last.saturating_duration_since(since.from);
        let cpu = tasks.get(&tid)?.cpu.saturating_sub(since.cpu);
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let loops_in = Vec::new();
        (!of.is_zero()).then(|| Busy { cpu_ns: ns(cpu), of_ns: ns(of), loops_in })
    }

    /// Looks what the threads are blocked in that sleep: once for each sleep.
    fn see_blocked(&mut self, pid: u32, locks: impl FnOnce() -> HashMap<u32, Locks>) {
        let mut descriptors = Descriptors::of(pid);
        let mut is_new = false;
        for (&tid, asleep) in self.asleep.iter_mut().filter(|(_, it)| it.locks.is_none()) {
            asleep.blocked = descriptors.blocked(tid);
            // Blocked in a call that is not reported: all zeros, which no row has.
            asleep.locks = asleep.blocked.is_none().then_some((0, 0, 0));
            is_new |= asleep.blocked.is_some();
        }
        if is_new {
            let rows = locks();
            for (tid, asleep) in self.asleep.iter_mut().filter(|(_, it)| it.locks.is_none()) {
                asleep.locks = Some(rows.get(tid).copied().unwrap_or_default());
            }
        }
    }

    /// The call that the thread was blocked in, if its row is still as it was then.
    fn blocked_until_the_end(&self, tid: u32, locks: Option<&Locks>) -> Option<Blocked> {
        let asleep = self.asleep.get(&tid)?;
        asleep.blocked.clone().filter(|_| locks.is_some() && locks == asleep.locks.as_ref())
    }

    /// Stops busy threads to see where they are, each once, if one holds what another has waited for
    /// since `patience` ago. `hung` says which thread waits, in which wait, and for which thread.
    /// True if one was stopped.
    fn sample(
        &mut self,
        now: Instant,
        patience: Duration,
        hung: impl FnOnce() -> Vec<(u32, u32, u32)>,
    ) -> bool {
        let is_over = |from: Instant| now.saturating_duration_since(from) >= patience;
        let before = std::mem::take(&mut self.waits);
        if self.busy.is_empty() {
            return false;
        }
        let mut has_stopped = false;
        let hung = hung();
        for &(waiter, wait, _) in &hung {
            let since = before.get(&(waiter, wait)).copied().unwrap_or(now);
            self.waits.insert((waiter, wait), since);
        }
        for (waiter, wait, holder) in hung {
            let Some(&Since { locks, from, .. }) = self.busy.get(&holder) else { continue };
            let is_known = self.samples.get(&holder).is_some_and(|(then, _)| *then == locks);
            if !is_known && is_over(from) && is_over(self.waits[&(waiter, wait)]) {
                self.samples.insert(holder, (locks, loops::sample(holder)));
                has_stopped = true;
            }
        }
        has_stopped
    }

    /// That a thread was stopped here counts as sleep in the kernel, and is none of its own.
    fn overlook_stops(&mut self, now: &HashMap<u32, Task>) {
        let Some((_, last)) = &mut self.last else { return };
        for tid in self.samples.keys() {
            if let (Some(last), Some(now)) = (last.get_mut(tid), now.get(tid)) {
                last.sleeps = now.sleeps;
            }
        }
    }

    /// Where the thread was when it was stopped, if its row is still as it was then.
    fn samples_of(&self, tid: u32, locks: Option<&Locks>) -> &[Sample] {
        let known = self.samples.get(&tid).filter(|(then, _)| Some(then) == locks);
        known.map_or(&[], |(_, samples)| samples)
    }
}

/// By thread id: what the live threads that wait for nothing have done to locks.
fn locks_of(ledger: &Ledger) -> HashMap<u32, Locks> {
    let rows = ledger.rows::<Thread>().map(|(_, row)| row);
    let rows = rows.filter(|row| row.state == thread_state::LIVE && row.wait_seq & 1 == 0);
    rows.map(|row| (row.tid, (row.acquisitions, row.wait_seq, row.held.top))).collect()
}

/// Each thread that waits for a lock, which wait of its it is, and a thread that holds the lock.
fn held_up(ledger: &Ledger) -> Vec<(u32, u32, u32)> {
    let rows: Vec<Thread> = ledger.rows::<Thread>().map(|(_, row)| row).collect();
    let live = || rows.iter().filter(|row| row.state == thread_state::LIVE);
    let holds: Vec<(u64, u32)> = live()
        .flat_map(|row| ledger.held(row).into_iter().map(|held| (held.addr, row.tid)))
        .collect();
    let waiters = live().filter(|row| {
        row.wait_seq & 1 == 1 && lockwright_ledger::rows::waits_for_lock(row.wait_mode as u16)
    });
    let of = |row: &Thread| {
        let (waiter, wait, addr) = (row.tid, row.wait_seq, row.wait_addr);
        let holders = holds.iter().filter(move |&&(held, _)| held == addr);
        holders.map(move |&(_, holder)| (waiter, wait, holder)).collect::<Vec<_>>()
    };
    waiters.flat_map(of).collect()
}

/// By thread id: the threads of a process.
fn tasks_of(pid: u32) -> HashMap<u32, Task> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of_thread = |entry: fs::DirEntry| {
        let tid = entry.file_name().to_str()?.parse().ok()?;
        let read = |name: &str| fs::read_to_string(entry.path().join(name)).ok();
        let (stat, status) = (read("stat")?, read("status")?);
        let is_asleep = stat.rsplit(')').next()?.trim_start().starts_with('S');
        Some((tid, Task { cpu: cpu_in(&stat)?, sleeps: sleeps_in(&status)?, is_asleep }))
    };
    entries.filter_map(of_thread).collect()
}

/// From the text of /proc/PID/task/TID/stat.
fn cpu_in(stat: &str) -> Option<Duration> {
    /// Behind the name, which may have any character in it: `utime`.
    const USER_TIME: usize = 11;
    /// Ticks are USER_HZ of these a second, on all of Linux's x86-64.
    const TICK: Duration = Duration::from_millis(10);
    let ticks: u32 = stat.rsplit(')').next()?.split_whitespace().nth(USER_TIME)?.parse().ok()?;
    Some(TICK * ticks)
}

/// From the text of /proc/PID/task/TID/status.
fn sleeps_in(status: &str) -> Option<u64> {
    let field = |line: &'_ str| line.strip_prefix("voluntary_ctxt_switches:").map(str::to_owned);
    status.lines().find_map(field)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwright_analysis::finding::doing::File;

    #[test]
    fn cpu_time_is_read_past_any_name() {
        let stat = "7 (a ) b (c) R 1 7 7 0 -1 4194304 95 0 0 0 250 3 0 0 20 0 1 0 100 1 1";
        assert_eq!(cpu_in(stat), Some(Duration::from_millis(2500)));
        assert_eq!(cpu_in("7 (x) R 1"), None);
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t7\n";
        assert_eq!(sleeps_in(status), Some(12));
    }

    /// A process at one look a second: CPU time of its thread, how often it slept, and what it has
    /// done to locks.
    fn looked_at(looks: &[(u64, u64, Locks)]) -> Process {
        let start = Instant::now();
        let mut process = Process::default();
        for (second, &(cpu_ms, sleeps, locks)) in (0..).zip(looks) {
            let task = Task { cpu: Duration::from_millis(cpu_ms), sleeps, is_asleep: false };
            let tasks = HashMap::from([(9, task)]);
            process
                .look(start + Duration::from_secs(second), tasks, || HashMap::from([(9, locks)]));
        }
        process
    }

    #[test]
    fn who_is_on_a_processor_and_takes_no_lock_is_busy() {
        let held = (5, 2, 0x40);
        let spins = looked_at(&[(100, 1, held), (200, 1, held), (300, 1, held), (400, 1, held)]);
        let busy = spins.busy_until_the_end(9, Some(&held)).unwrap();
        assert_eq!((busy.cpu_ns, busy.of_ns), (200_000_000, 2_000_000_000));
        assert_eq!(spins.busy_until_the_end(9, Some(&(6, 2, 0x40))), None, "it went on");
        assert_eq!(spins.busy_until_the_end(9, None), None, "it waits, or has ended");
        assert_eq!(spins.busy_until_the_end(8, Some(&held)), None, "another");
    }

    /// No such thread is there to be stopped: it is tried, or it is not.
    #[test]
    fn a_thread_is_stopped_once_a_wait_for_it_has_lasted() {
        let held = (5, 2, 0x40);
        let mut spins = looked_at(&[(100, 1, held), (200, 1, held), (300, 1, held)]);
        let spinner = spins.busy.remove(&9).unwrap();
        spins.busy.insert(u32::MAX, spinner);
        let (start, two) = (spinner.from, Duration::from_secs(2));
        let mut at = |seconds, wait| {
            let now = start + Duration::from_secs(seconds);
            spins.sample(now, two, || vec![(7, wait, u32::MAX)])
        };
        assert!(!at(1, 3), "it is new");
        assert!(!at(2, 3), "it has lasted for one second");
        assert!(!at(3, 5), "it is another");
        assert!(!at(4, 5), "likewise");
        assert!(at(5, 5), "a hang");
        assert!(!at(6, 5), "it is known");
    }

    #[test]
    fn who_sleeps_and_has_done_nothing_to_locks_since_is_blocked() {
        let held = (5, 2, 0x40);
        let blocked =
            Blocked { call: "read", descriptor: 3, file: File::Other, other_ends: vec![] };
        let mut reads = Process::default();
        let asleep = Asleep { sleeps: 1, locks: Some(held), blocked: Some(blocked.clone()) };
        reads.asleep.insert(9, asleep);
        assert_eq!(reads.blocked_until_the_end(9, Some(&held)), Some(blocked));
        assert_eq!(reads.blocked_until_the_end(9, Some(&(6, 2, 0x40))), None, "it went on");
        assert_eq!(reads.blocked_until_the_end(9, None), None, "it waits for a lock, or has ended");
        assert_eq!(reads.blocked_until_the_end(8, Some(&held)), None, "another");
    }

    #[test]
    fn who_takes_locks_or_sleeps_is_not_busy() {
        let works = looked_at(&[(0, 1, (1, 0, 0)), (900, 1, (2, 0, 0)), (1800, 1, (3, 0, 0))]);
        assert_eq!(works.busy_until_the_end(9, Some(&(3, 0, 0))), None);
        let sleeps = looked_at(&[(0, 1, (1, 0, 0)), (900, 2, (1, 0, 0)), (1800, 3, (1, 0, 0))]);
        assert_eq!(sleeps.busy_until_the_end(9, Some(&(1, 0, 0))), None);
        let once = looked_at(&[(0, 1, (1, 0, 0)), (900, 1, (1, 0, 0))]);
        assert_eq!(once.busy_until_the_end(9, Some(&(1, 0, 0))), None, "for one look alone");
    }
}
