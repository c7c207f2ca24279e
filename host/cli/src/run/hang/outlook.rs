//! Events that could still end a deadlock: a process is not ended for threads that could go on.
//!
//! Threads that wait for each other may be released from elsewhere in their process: by a thread
//! that unlocks what it has not locked, posts a semaphore or cancels a waiting thread, or by a
//! signal's handler that makes a long jump. So the deadlock is final only where no thread of the
//! process can run any more by itself, and no timer is armed. From outside there may come input or
//! a signal: that is waited for, but not for ever.

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{
    Class, Lock, Step, Thread, lock_flag, lock_kind, mode, thread_state,
};

use super::tasks::{Doing, Task};
use lockwright_analysis::signal;

/// What could still end the deadlock, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outlook {
    /// Nothing that is known.
    Final,
    /// Something that comes from outside of the process.
    Outside(String),
    /// Something that will happen by itself.
    Inside(String),
}

/// Signals that will not end a deadlock. A thread raises some by its own faults. Some ask the
/// program to end or to stop, and some report events elsewhere. Some come from timers, which are
/// looked at themselves. 32 and 33 are the C library's own.
const UNRELATED: &[i32] = &[
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGSYS,
    libc::SIGTERM,
    libc::SIGINT,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGXCPU,
    libc::SIGXFSZ,
    libc::SIGPIPE,
    libc::SIGCHLD,
    libc::SIGCONT,
    libc::SIGTSTP,
    libc::SIGTTIN,
    libc::SIGTTOU,
    libc::SIGURG,
    libc::SIGWINCH,
    libc::SIGALRM,
    libc::SIGVTALRM,
    libc::SIGPROF,
    32,
    33,
];

/// What there is to be seen of a process with a deadlock.
pub struct Scene<'a> {
    /// Its ledger.
    pub ledger: &'a Ledger,
    /// Its threads.
    pub tasks: &'a [Task],
    /// The steps of its deadlocks.
    pub steps: &'a [Step],
    /// CLOCK_MONOTONIC.
    pub now_ns: u64,
    /// Another process of the run does something.
    pub others_run: bool,
}

impl Scene<'_> {
    /// The best that there is to be hoped for.
    pub fn outlook(&self) -> Outlook {
        let threads = self.tasks.iter().map(|task| self.of_thread(task));
        let hopes = threads.chain([self.of_timers(), self.of_locks(), self.of_signals()]);
        match hopes.max().unwrap_or(Outlook::Final) {
            Outlook::Outside(why) if self.others_run => Outlook::Inside(why),
            hope => hope,
        }
    }

    fn of_thread(&self, task: &Task) -> Outlook {
        let name = || format!("thread {} ({})", task.tid, task.name);
        let wait = self.wait_of(task.tid);
        match task.doing {
            Doing::Ended => Outlook::Final,
            Doing::Stopped => Outlook::Inside(format!("{} is stopped", name())),
            // A spinning thread is on a processor all the time, and makes no progress.
            _ if wait.is_some_and(|wait| self.may_spin(&wait)) => Outlook::Final,
            Doing::Runs => Outlook::Inside(format!("{} runs", name())),
            Doing::SleepsForATime => Outlook::Inside(format!("{} sleeps for a time only", name())),
            // Perhaps a handler ran.
            _ if task.moved => Outlook::Inside(format!("{} runs now and then", name())),
            Doing::AwaitsThread => Outlook::Final,
            // The ledger may say what it sleeps in.
            Doing::Sleeps if wait.is_some() => Outlook::Final,
            Doing::AwaitsOutside | Doing::Sleeps => {
                Outlook::Outside(format!("{} waits for something from outside", name()))
            }
        }
    }

    /// The wait that the thread is in, by the ledger, if it has no timeout.
    fn wait_of(&self, tid: u32) -> Option<Thread> {
        let mut rows = self.ledger.rows::<Thread>().map(|(_, row)| row);
        rows.find(|row| {
            row.tid == tid
                && row.state == thread_state::LIVE
                && row.wait_seq & 1 == 1
                && row.wait_mode as u16 & mode::TIMED == 0
        })
    }

    fn may_spin(&self, wait: &Thread) -> bool {
        let is_lock = wait.wait_mode as u16 & (mode::JOIN | mode::COND_WAIT | mode::BARRIER) == 0;
        let kind = self.ledger.get::<Class>(wait.wait_class).map_or(0, |class| class.kind);
        is_lock && matches!(kind, lock_kind::SPIN | lock_kind::OWN)
    }

    fn of_timers(&self) -> Outlook {
        match self.ledger.header().timers_until_ns > self.now_ns {
            true => Outlook::Inside("a timer of the process is armed".to_owned()),
            false => Outlook::Final,
        }
    }

    /// A lock that another thread has unlocked, or one like it, it may unlock again.
    fn of_locks(&self) -> Outlook {
        let is_wanted = |lock: &Lock| {
            let is_it =
                |step: &Step| step.mode & u32::from(mode::JOIN) == 0 && step.class == lock.class;
            lock.flags & lock_flag::UNLOCKED_BY_ANOTHER != 0 && self.steps.iter().any(is_it)
        };
        match self.ledger.rows::<Lock>().any(|(_, lock)| is_wanted(&lock)) {
            true => Outlook::Inside(
                "a thread that had not taken such a lock has unlocked one before".to_owned(),
            ),
            false => Outlook::Final,
        }
    }

    fn of_signals(&self) -> Outlook {
        let unrelated = UNRELATED.iter().fold(0u64, |set, signal| set | 1 << (signal - 1));
        let tid_of = |step: &Step| self.ledger.get::<Thread>(step.thread).map(|row| row.tid);
        let waits = |task: &&Task| self.steps.iter().any(|step| tid_of(step) == Some(task.tid));
        let open = self.tasks.iter().filter(waits).fold(0, |set, task| set | task.open_signals);
        match open & !unrelated {
            0 => Outlook::Final,
            set => Outlook::Outside(format!(
                "{} has a handler, and a waiting thread does not block it",
                signal::name(set.trailing_zeros() + 1)
            )),
        }
    }
}
