//! Processes in which every thread waits for another, for ever: a deadlock, whatever they wait for.
//!
//! All threads sleep in futex(2) without a timeout, and none was on a processor between two looks: so at one moment all slept.
//! Then only something from elsewhere could wake one: a signal that has a handler, another process that has the memory, too,
//! or a debugger. Where there is none of these, the process does nothing more. A timer whose signal has no handler could only
//! end the process, as a watchdog does.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lockwright_analysis::attached::Thread;
use lockwright_analysis::attached::judge::{may_wake, wait_for_ever};

use super::tasks::{self, Doing, Switches, Task};
use crate::ledger_dir::{glance_at, is_own, named_writer, writer_of};
use crate::run::attach;

/// Time between two looks.
const INTERVAL: Duration = Duration::from_millis(500);

/// Looks take no more than this part of the time.
const SHARE: u32 = 100;

/// How long all threads must have slept: long enough for a process that is looked at as it begins or ends.
const GRACE: Duration = Duration::from_secs(2);

/// How long where another process of the run does something: it may be about to end this one.
const PATIENCE: Duration = Duration::from_secs(30);

/// A process all of whose threads wait for ever.
#[derive(Debug)]
pub struct Asleep {
    /// Its ledger.
    pub ledger: PathBuf,
    /// The process.
    pub pid: u32,
    /// Its threads.
    pub threads: Vec<Thread>,
}

/// Looks at the processes of a run.
#[derive(Debug, Default)]
pub struct AsleepProcesses {
    next: Option<Instant>,
    processes: HashMap<PathBuf, Process>,
}

/// A process whose first thread slept at the last look.
#[derive(Debug)]
struct Process {
    switches: Switches,
    /// Since when all of its threads have slept; `None`: they have not.
    since: Option<Instant>,
    /// Not to be looked at before: it was found to wait for something else, or is known.
    not_before: Option<Instant>,
    others: HashMap<u32, Switches>,
}

impl AsleepProcesses {
    /// Those that are known to be asleep for ever from now on.
    pub fn poll(&mut self, dir: &Path) -> Vec<Asleep> {
        let now = Instant::now();
        if self.next.is_some_and(|next| now < next) {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (path, _) in glance_at(dir).unwrap_or_default() {
            let Some(pid) = first_sleeps(&path) else {
                self.processes.remove(&path);
                continue;
            };
            let process = self.processes.entry(path.clone()).or_insert_with(Process::new);
            found.extend(process.look(&path, pid, now));
        }
        self.next = Some(now + INTERVAL.max(now.elapsed() * SHARE));
        found
    }
}

/// The process that writes a ledger of this user's, if its first thread may be asleep for ever: what most processes fail, for
/// the price of one file.
fn first_sleeps(ledger: &Path) -> Option<u32> {
    let pid = named_writer(ledger)?;
    let call = fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
    // A first thread that has ended is in no call, and the others go on.
    let may = matches!(tasks::sleeps_in(&call), Doing::AwaitsThread) || call.is_empty();
    (may && is_own(ledger)).then(|| writer_of(ledger)).flatten()
}

impl Process {
    fn new() -> Self {
        Self {
            switches: Switches::default(),
            since: None,
            not_before: None,
            others: HashMap::new(),
        }
    }

    fn look(&mut self, path: &Path, pid: u32, now: Instant) -> Option<Asleep> {
        if self.not_before.is_some_and(|then| now < then) {
            return None;
        }
        let tasks = tasks::of_process(pid, &mut self.switches);
        if !all_sleep(&tasks) || is_traced(pid) {
            self.since = None;
            return None;
        }
        let slept = now - *self.since.get_or_insert(now);
        if slept < GRACE || (slept < PATIENCE && tasks::others_run(pid, &mut self.others)) {
            return None;
        }
        // The long look, with owners and stacks, and what is shared with other processes.
        self.not_before = Some(Instant::now() + PATIENCE);
        let threads = attach::threads(pid)?;
        let is_for_ever =
            wait_for_ever(&threads) && all_sleep(&tasks::of_process(pid, &mut self.switches));
        is_for_ever.then(|| Asleep { ledger: path.to_owned(), pid, threads })
    }
}

/// Whether each thread has slept since the last look until another one wakes it, and no signal has a handler in it.
fn all_sleep(tasks: &[Task]) -> bool {
    let sleeps = |task: &&Task| {
        task.doing == Doing::AwaitsThread && !task.moved && may_wake(task.open_signals) == 0
    };
    let live = || tasks.iter().filter(|task| task.doing != Doing::Ended);
    live().next().is_some() && live().all(|task| sleeps(&task))
}

/// Whether a debugger has it.
fn is_traced(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|tracer| tracer.trim() != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(doing: Doing, moved: bool, open_signals: u64) -> Task {
        Task { tid: 1, name: String::new(), doing, moved, open_signals }
    }

    #[test]
    fn all_must_sleep_until_another_thread_wakes_them() {
        let asleep = || task(Doing::AwaitsThread, false, 0);
        assert!(all_sleep(&[asleep(), task(Doing::Ended, true, 0), asleep()]));
        assert!(!all_sleep(&[]));
        assert!(!all_sleep(&[task(Doing::Ended, false, 0)]));
        for other in [
            Doing::Runs,
            Doing::SleepsForATime,
            Doing::AwaitsOutside,
            Doing::Sleeps,
            Doing::Stopped,
        ] {
            assert!(!all_sleep(&[asleep(), task(other, false, 0)]), "{other:?}");
        }
        assert!(!all_sleep(&[asleep(), task(Doing::AwaitsThread, true, 0)]), "it ran meanwhile");
        let bit = |signal: i32| 1u64 << (signal - 1);
        assert!(!all_sleep(&[asleep(), task(Doing::AwaitsThread, false, bit(libc::SIGINT))]));
        assert!(all_sleep(&[asleep(), task(Doing::AwaitsThread, false, bit(libc::SIGSEGV))]));
    }
}
