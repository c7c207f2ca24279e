//! A process in which every thread waits for another.

use crate::finding::ThreadInfo;

/// What the grade rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The thread of a step waits for a lock that the thread of another step holds.
    WaitsForHolder {
        /// The step.
        step: usize,
        /// The step of the holder.
        holder: usize,
    },
    /// The thread of a step waits for the end of the thread of another step.
    WaitsForEnd {
        /// The step.
        step: usize,
        /// The step of that thread.
        of: usize,
    },
    /// The thread of a step waits for a lock of one that has ended.
    WaitsForEnded {
        /// The step.
        step: usize,
        /// The thread that had the lock.
        owner: ThreadInfo,
    },
    /// So many more threads wait for the same at the same place as the thread of a step.
    Alike {
        /// The step.
        step: usize,
        /// How many.
        more: usize,
    },
    /// There are so many more places at which threads wait.
    LeftOut {
        /// How many.
        places: usize,
    },
    /// No wait has a timeout, and neither a handler of a signal nor another process can end one.
    NothingEndsThem,
}
