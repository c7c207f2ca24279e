//! A lock is kept while its thread depends on others.

use crate::finding::futex::FutexKind;
use crate::finding::{Name, ThreadInfo};

/// A wait keeps further locks: those of the finding but the first, which is what the wait gives
/// up, or what else it waits for, and those that [`Signalled::NeedsThrough`] adds.
#[derive(Clone, Debug)]
pub struct WaitWithLockHeld {
    /// What ends it.
    pub ended_by: EndedBy,
    /// The wait may end by itself.
    pub timed: bool,
    /// What is known about the signallers.
    pub signalled: Signalled,
    /// What may be missing in that.
    pub gap: Option<Gap>,
}

/// What ends a wait with a lock kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// A signal of a condition variable.
    Signal,
    /// A post of a semaphore.
    Post,
    /// A wake at a futex. Where not `all_seen`, the waiter may go on without one of those that are recorded.
    Wake {
        /// What the futex is.
        kind: FutexKind,
        /// Nothing else ends the wait.
        all_seen: bool,
    },
}

/// What a ledger that has reached a bound may lack, so that nothing follows from its not being there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// Signals.
    Signals,
    /// What orders threads.
    Orders,
}

/// What is known of the threads that signal what is waited for with locks kept.
#[derive(Clone, Debug)]
pub enum Signalled {
    /// Nothing that helps.
    Unknown,
    /// One took a kept lock on its way.
    Needs {
        /// Who.
        thread: ThreadInfo,
        /// Which of the finding's locks.
        lock: usize,
        /// It holds the lock when it signals.
        is_held: bool,
        /// It is that very lock, and nothing that the thread did between it and the signal could
        /// have ended the wait.
        is_sure: bool,
        /// These signalled without taking one.
        others: Vec<ThreadInfo>,
    },
    /// One took a lock on its way that another thread may hold. That thread may wait for a kept
    /// lock, or for a lock of a third, and so on.
    NeedsThrough {
        /// Who.
        thread: ThreadInfo,
        /// Which of the finding's locks. It is followed by those of the others, and these come after
        /// all that are kept.
        lock: usize,
        /// One of the threads between, the signaller or the waiter has waited for an event before.
        has_heard: bool,
        /// The holder of that lock, the holder of the lock that this one waits for, and so on.
        between: Vec<ThreadInfo>,
    },
    /// These have signalled, and took none on their way.
    Independent(Vec<ThreadInfo>),
}

/// A library calls back with the lock held that it takes when it is called.
#[derive(Clone, Debug)]
pub struct CallbackWithLockHeld {
    /// Path of the library.
    pub library: String,
    /// The function that it calls.
    pub callback: Option<Name>,
    /// Path of the module of that.
    pub user: String,
    /// The lock that was taken in the callback; none where something else was waited for.
    pub within: Option<Name>,
    /// The function of the library that takes the lock.
    pub entry: Option<Name>,
    /// Whether the callback itself was seen to call that.
    pub calls: Calls,
    /// The lock that is taken may be another of its class.
    pub is_by_class: bool,
}

/// Whether a callback was seen to call the library at another time, with the lock free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Calls {
    /// In the same thread, or in one created at the same place.
    Alike,
    /// In other threads.
    Elsewhere,
    /// It was not.
    Unseen,
}
