//! Threads that run all along and never sleep, while they neither take nor release a lock that is
//! watched: of a program that hangs, those may wait in a loop of their own, for a lock that is made
//! of atomics. Or they calculate: from here the two look the same.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lockwright_analysis::finding::{Busy, Report};
use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{Thread, thread_state};

use crate::ledger_dir::{glance_at, writer_of};

/// Time between two looks.
const INTERVAL: Duration = Duration::from_secs(1);

/// Looks take no more than this part of the time.
const SHARE: u32 = 100;

/// Looks at the threads of a run's processes.
#[derive(Debug, Default)]
pub struct BusyThreads {
    next: Option<Instant>,
    processes: HashMap<PathBuf, Process>,
}

/// The threads of one process.
#[derive(Debug, Default)]
struct Process {
    /// The last look, and each thread then.
    last: Option<(Instant, HashMap<u32, Task>)>,
    /// By thread id: who has been busy since when.
    busy: HashMap<u32, Since>,
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
}

/// What of a thread's row changes with whatever it does to a lock: acquisitions, waits, and the
/// place of the innermost held lock.
type Locks = (u64, u32, u64);

impl BusyThreads {
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
        }
        self.next = Some(now + INTERVAL.max(now.elapsed() * SHARE));
    }

    /// Says of the holders in the report which of them have been busy up to the end.
    pub fn tell(&self, report: &mut Report) {
        let tokens: Vec<u64> = report.processes.iter().map(|process| process.token).collect();
        for (path, process) in self.processes.iter().filter(|(_, it)| !it.busy.is_empty()) {
            let Ok(ledger) = Ledger::open(path) else { continue };
            let (token, locks) = (ledger.header().token, locks_of(&ledger));
            let of_it = |number: usize| tokens.get(number) == Some(&token);
            for waiting in report.waiting.iter_mut().filter(|waiting| of_it(waiting.process)) {
                for holder in &mut waiting.holders {
                    let tid = holder.thread.tid;
                    holder.busy = process.busy_until_the_end(tid, locks.get(&tid));
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
        (!of.is_zero()).then(|| Busy { cpu_ns: ns(cpu), of_ns: ns(of) })
    }
}

/// By thread id: what the live threads that wait for nothing have done to locks.
fn locks_of(ledger: &Ledger) -> HashMap<u32, Locks> {
    let rows = ledger.rows::<Thread>().map(|(_, row)| row);
    let rows = rows.filter(|row| row.state == thread_state::LIVE && row.wait_seq & 1 == 0);
    rows.map(|row| (row.tid, (row.acquisitions, row.wait_seq, row.held.top))).collect()
}

/// By thread id: the threads of a process.
fn tasks_of(pid: u32) -> HashMap<u32, Task> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of_thread = |entry: fs::DirEntry| {
        let tid = entry.file_name().to_str()?.parse().ok()?;
        let read = |name: &str| fs::read_to_string(entry.path().join(name)).ok();
        let (cpu, sleeps) = (cpu_in(&read("stat")?)?, sleeps_in(&read("status")?)?);
        Some((tid, Task { cpu, sleeps }))
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
            let task = Task { cpu: Duration::from_millis(cpu_ms), sleeps };
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
