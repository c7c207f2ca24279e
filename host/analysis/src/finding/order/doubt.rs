//! What leaves open whether a cycle can deadlock.

use crate::finding::{Name, ThreadInfo};

/// What the grade rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// A step waits with a timeout.
    Timeout {
        /// That one.
        step: usize,
    },
    /// More threads took a step than were recorded.
    MoreThreads {
        /// That one.
        step: usize,
    },
    /// A step held more locks than were recorded.
    MoreLocksHeld {
        /// That one.
        step: usize,
    },
    /// The ledger changed each time that it was read: an order between the threads may be missing.
    OrderUnread,
    /// A step came after a bound of what orders threads.
    OrderUnrecorded {
        /// That one.
        step: usize,
    },
    /// Nobody is known for sure to be able to write a lock between its two readers.
    NoWriter {
        /// The lock.
        lock: usize,
    },
    /// One step was over before another began in this run, because a signal woke a thread.
    HandedOn {
        /// The early and the late one.
        steps: [usize; 2],
        /// The thread that signalled, and the one that woke.
        threads: [ThreadInfo; 2],
        /// Where the signal was made.
        place: Option<String>,
    },
    /// Two steps hold a lock of one class, and which is not known.
    DoubtfulGate {
        /// Those two.
        steps: [usize; 2],
        /// The class.
        class: Name,
    },
}
