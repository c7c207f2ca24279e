//! A lock that is held while a thread is joined which takes it.

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The other lock is held while a thread is joined that takes it.
    JoinedWithLockHeld {
        /// The end of the thread among the two.
        end: usize,
    },
    /// The locks are taken in a cycle that joins close.
    CycleWithJoins {
        /// The ends of the threads among the locks.
        ends: Vec<usize>,
    },
}

/// What the grade rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The thread that is joined took the very lock that is held meanwhile.
    TakenByJoined {
        /// Its end among the locks.
        end: usize,
    },
    /// The joiner has waited on a condition before, with a mutex that the joined thread takes.
    MayHaveHeard {
        /// Its end among the locks.
        end: usize,
    },
    /// The joined thread signals a condition once, soon before its end, and holds the joiner's lock
    /// then. The signal may announce its end.
    SignalsAtItsEnd {
        /// Its end among the locks.
        end: usize,
        /// Where it signals.
        place: Option<String>,
    },
    /// The function that joins took the lock in the same place at other times, and did not join: it may
    /// decide by what the lock guards.
    PassedWithoutJoin {
        /// Its end among the locks.
        end: usize,
        /// The function.
        function: String,
    },
    /// The function that took the lock has returned before the join.
    TakerReturned {
        /// The end of the joined thread among the locks.
        end: usize,
        /// The function.
        function: String,
    },
    /// The joined thread was asked to end (`pthread_cancel`).
    Cancelled {
        /// Its end among the locks.
        end: usize,
    },
}
