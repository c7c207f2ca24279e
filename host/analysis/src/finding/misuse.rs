//! Misuse of a lock, as a finding has it.

use super::action::Access;
use super::{Name, ThreadInfo};

/// What was done to a lock: the finding's first one. Its first step tells who did it.
#[derive(Clone, Debug)]
pub enum Misuse {
    /// A read lock is released that this thread took, or else the same one, in other hands since.
    ReadHandedOn {
        /// Another thread.
        holder: Option<ThreadInfo>,
    },
    /// A lock is unlocked by a thread that does not hold it.
    BadUnlock {
        /// By a condition wait.
        by_wait: bool,
        /// The thread that holds it.
        holder: Option<ThreadInfo>,
        /// The thread took it, but the lock names another owner.
        took_itself: bool,
        /// How the call failed.
        error: Option<u64>,
    },
    /// The lock was a local variable of a function that returns.
    FrameLeft,
    /// The memory of a held lock is freed.
    Freed {
        /// The holder, if it is another thread.
        holder: Option<ThreadInfo>,
    },
    /// A held lock is destroyed.
    Destroyed {
        /// The holder, if it is another thread.
        holder: Option<ThreadInfo>,
    },
    /// A held lock is initialised again.
    Initialised {
        /// The holder, if it is another thread.
        holder: Option<ThreadInfo>,
    },
    /// A destroyed lock is used.
    UsedAfterDestroy {
        /// Who destroyed it.
        by: Option<ThreadInfo>,
    },
    /// A thread ends with the lock held.
    ThreadEnded {
        /// How it holds it.
        access: Access,
        /// It holds it for reading.
        reads: bool,
        /// Another thread unlocked it later.
        unlocked_later: bool,
        /// There is a robust variant of such a lock.
        can_be_robust: bool,
    },
    /// A library calls back with the lock held that it takes when it is called.
    HeldInCallback {
        /// Path of the library.
        library: String,
        /// The function that it calls.
        callback: Option<Name>,
        /// Path of the module of that.
        user: String,
        /// The lock that was taken in the callback; none where something else was waited for.
        within: Option<Name>,
        /// The function of the library that takes the lock.
        entry: Option<Name>,
        /// Whether the callback itself was seen to call that.
        calls: Calls,
        /// The lock that is taken may be another of its class.
        is_by_class: bool,
    },
    /// The function that took the lock has returned, and its thread idles or ends the process.
    Leaked {
        /// That function.
        function: Option<String>,
        /// The process exits.
        exits: bool,
        /// In other passes the same call's lock is released before the function returns.
        releases_otherwise: bool,
    },
    /// A forked child uses a lock that was held at the fork.
    Forked {
        /// The holder in the parent process.
        holder: Option<ThreadInfo>,
    },
    /// A wait keeps further locks: those of the finding but the first, which is what the wait gives
    /// up, or the semaphore that it waits for, and those that [`Signalled::NeedsThrough`] adds.
    KeptInWait {
        /// It is for a semaphore.
        semaphore: bool,
        /// The wait may end by itself.
        timed: bool,
        /// What is known about the signallers.
        signalled: Signalled,
        /// What may be missing in that.
        gap: Option<Gap>,
    },
    /// A condition variable is signalled by a thread whose function has not taken the waiters'
    /// mutex, which is the finding's lock.
    SignalledBare {
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
    /// A condition variable is used with two mutexes: those of the finding.
    TwoMutexes {
        /// The variable.
        condvar: Option<Name>,
        /// Who waited with the other one.
        other: Option<ThreadInfo>,
    },
    /// A robust mutex is unlocked without having been made consistent.
    NotMadeConsistent,
    /// A handler calls what is not async-signal-safe.
    UnsafeCall {
        /// The signal.
        signal: u32,
        /// The same was in use outside with the signal open.
        may_interrupt: bool,
    },
    /// An assertion about holding the lock does not hold.
    Asserted {
        /// It is held, and asserted not to be.
        held: bool,
    },
    /// A pinned lock is unlocked.
    Unpinned,
    /// A lock that may sleep is taken inside spinning ones: those of the finding but the first.
    SleepsInside,
    /// A call that may sleep is made with a spinning lock held.
    SleepsInCall {
        /// The function; `None`: one of a later version.
        call: Option<&'static str>,
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
