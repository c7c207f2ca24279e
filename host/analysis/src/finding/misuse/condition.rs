//! A condition variable is used in a way that loses signals.

use crate::finding::{Name, ThreadInfo};

/// A condition variable is signalled in a way that a waiter may miss.
#[derive(Clone, Debug)]
pub enum LostWakeup {
    /// A condition variable is signalled by a thread whose function has not taken the waiters'
    /// mutex, which is the finding's lock.
    SignalledBare {
        /// All waits on it have a timeout.
        is_timed: bool,
        /// The variable.
        condvar: Option<Name>,
        /// A thread that waits on it.
        waiter: Option<ThreadInfo>,
    },
    /// Threads wait in different functions on one condition variable, and one of them was woken by a
    /// signal for nothing.
    SignalTaken {
        /// The variable.
        condvar: Option<Name>,
        /// The thread that was woken, and waits again.
        taker: ThreadInfo,
        /// The thread that waited meanwhile.
        waiter: ThreadInfo,
    },
}

/// A condition variable is used with two mutexes: those of the finding.
#[derive(Clone, Debug)]
pub struct CondvarMutexMismatch {
    /// The variable.
    pub condvar: Option<Name>,
    /// Who waited with the other one.
    pub other: Option<ThreadInfo>,
}
