//! A lock is unlocked that should not be.

use crate::finding::ThreadInfo;

/// A lock is unlocked by a thread that does not hold it.
#[derive(Clone, Debug)]
pub enum BadUnlockBalance {
    /// A read lock is released that this thread took, or else the same one, in other hands since.
    ReadHandedOn {
        /// Another thread.
        holder: Option<ThreadInfo>,
    },
    /// The lock is held by another thread, or by nobody.
    NotHeld {
        /// By a condition wait.
        by_wait: bool,
        /// The thread that holds it.
        holder: Option<ThreadInfo>,
        /// The thread took it, but the lock names another owner.
        took_itself: bool,
        /// How the call failed.
        error: Option<u64>,
    },
}

/// A robust mutex is unlocked without having been made consistent.
#[derive(Clone, Debug)]
pub struct UnlockInconsistent;

/// A pinned lock is unlocked.
#[derive(Clone, Debug)]
pub struct Unpinned;
