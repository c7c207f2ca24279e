//! Ends a run before the program ends by itself.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::ledger_dir;

/// How long processes may take to end by SIGTERM.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long after that killed processes may be there yet.
const LAST: Duration = Duration::from_secs(2);

/// How often to check whether they are.
const POLL: Duration = Duration::from_millis(20);

/// Why a run is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A finding, as the user wants (`--abort-on`).
    Finding,
    /// It has been watched for as long as the user wants (`--seconds`).
    Time,
}

/// A run that is being ended.
#[derive(Debug)]
pub struct Stop {
    /// Why.
    pub why: Why,
    since: Instant,
    asked: HashSet<u32>,
}

impl Stop {
    /// Begins now.
    pub fn new(why: Why) -> Self {
        Self { why, since: Instant::now(), asked: HashSet::new() }
    }

    /// Asks the program, and all processes that write to a ledger of the run, to end; each once. Kills them if they have
    /// had their time.
    pub fn pursue(&mut self, dir: &Path, program: u32) {
        let mut processes = ledger_dir::watched_in(dir);
        // A number that is the program's own stays so until it was waited for.
        processes.insert(program);
        self.end(processes);
    }

    /// After the program has ended: the same of the processes that are left, until there are none.
    pub fn finish(&mut self, dir: &Path) {
        while self.since.elapsed() < PATIENCE + LAST {
            let processes = ledger_dir::watched_in(dir);
            if processes.is_empty() {
                break;
            }
            self.end(processes);
            thread::sleep(POLL);
        }
    }

    fn end(&mut self, processes: BTreeSet<u32>) {
        let is_over = self.since.elapsed() >= PATIENCE;
        for pid in processes {
            if is_over {
                send(pid, libc::SIGKILL);
            } else if self.asked.insert(pid) {
                send(pid, libc::SIGTERM);
            }
        }
    }
}

fn send(pid: u32, signal: i32) {
    // SAFETY: a process that has a ledger of the run open, or our unreaped child; kill(2) touches no memory.
    unsafe { libc::kill(pid as libc::pid_t, signal) };
}
