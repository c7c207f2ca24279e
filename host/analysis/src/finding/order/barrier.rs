//! A lock that is kept at a barrier.

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The other lock is kept at a barrier, and taken by a thread that must come there.
    KeptAtBarrier {
        /// The barrier among the two.
        barrier: usize,
        /// The step of that thread.
        step: usize,
    },
    /// The last of a chain of locks is kept at a barrier, and the first is taken by a thread that
    /// must come there.
    CycleAtBarrier {
        /// The barrier among the locks; the lock that is kept is the one before it, and the one that
        /// is taken the one behind.
        barrier: usize,
    },
}

/// What the grade rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The thread of the step took the lock behind the barrier in the cycle, and then came there.
    TakenBeforeBarrier {
        /// Which.
        step: usize,
    },
    /// More threads come to the barrier than it is for, so another may come.
    OthersCome {
        /// The barrier among the locks.
        barrier: usize,
    },
}
