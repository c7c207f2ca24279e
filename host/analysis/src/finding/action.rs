//! The action of a thread in a step of a finding.

pub use lockwright_ledger::rows::is_read;
use lockwright_ledger::rows::{lock_kind, mode};

/// How a lock is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// By one thread alone: the lock has no readers.
    Exclusive,
    /// For reading.
    Read,
    /// For reading, and perhaps for writing later.
    Upgradable,
    /// For writing.
    Write,
}

impl Access {
    /// That of an acquisition in `mode` of a lock of `kind`.
    pub fn of(kind: u8, mode: u16) -> Self {
        match is_rwlock(kind) {
            true if is_read(mode) => Self::shared(mode),
            true => Self::Write,
            false => Self::Exclusive,
        }
    }

    /// That of a reader in `mode`.
    fn shared(mode: u16) -> Self {
        if mode & mode::UPGRADABLE == 0 { Self::Read } else { Self::Upgradable }
    }
}

/// What a thread does, or did, to the lock or object of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Acquires it.
    Acquires {
        /// How.
        access: Access,
        /// It can back out.
        timed: bool,
    },
    /// A condition wait ends, and takes the mutex again.
    Reacquires,
    /// Waits at a barrier.
    WaitsAtBarrier,
    /// Calls `pthread_once`, and runs its routine, or waits for the thread that does.
    CallsOnce,
    /// Enters a context that the program declares.
    Enters,
    /// Waits for it: for a lock as long as it takes.
    WaitsFor,
    /// Waits to read-acquire it.
    WaitsToRead,
    /// Waits to take the mutex of a condition wait again.
    WaitsToReacquire,
    /// Waits for the end of a thread.
    WaitsToJoin,
    /// Joins the thread, which is to say that it waits for this end of it.
    WaitsForEnd {
        /// It can back out.
        timed: bool,
    },
    /// Waits on a condition variable, with this mutex.
    WaitsOnCondition,
    /// Waits for a post of this semaphore.
    WaitsForPost,
    /// Waits for something at a futex.
    WaitsAtFutex,
    /// Signals a condition variable on which others wait with this mutex.
    Signals,
    /// Posts this semaphore.
    Posts,
    /// Wakes those that wait for this at a futex.
    Wakes,
    /// A handler that could interrupt the thread acquires it.
    WouldAcquireInHandler {
        /// For reading.
        reads: bool,
        /// It can back out.
        timed: bool,
    },
    /// Acquires it for good.
    NeverUnlocks(Access),
    /// Releases a read lock of it that another thread took.
    ReleasesRead,
    /// Unlocks it.
    Unlocks,
    /// Frees its memory.
    Frees,
    /// Destroys it.
    Destroys,
    /// Initialises it.
    Initialises,
    /// Uses it after it was destroyed.
    UsesDestroyed,
    /// Uses it in a forked child.
    UsesInChild,
    /// Calls a function that is not async-signal-safe in a handler.
    CallsInHandler,
    /// Calls it elsewhere.
    CallsOutside,
    /// Makes a call that may sleep, and holds it meanwhile.
    MaySleepHolding,
    /// Waits for something else, and holds it meanwhile.
    IdlesHolding,
    /// Calls a function of another module, and holds it meanwhile.
    CallsBackHolding,
    /// Asserts to hold it.
    AssertsHeld,
    /// Asserts not to hold it.
    AssertsNotHeld,
    /// Took it before.
    Took(Access),
    /// Took it in the parent process, before the fork.
    TookInParent,
    /// Pinned it before.
    Pinned,
    /// Destroyed it before.
    Destroyed,
    /// Something that happens to objects of this type, as
    /// [`lockwright_ledger::rows::object::object_type`] numbers them.
    Object(u32, ObjectAction),
}

/// A change in the life of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It comes into being.
    Init,
    /// It comes into use.
    Activate,
    /// It goes out of use.
    Deactivate,
    /// It ends.
    Destroy,
}

/// What a thread does, or did, to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectAction {
    /// Does this now.
    Does(Change),
    /// Did this before.
    Did(Change),
    /// Did this in the parent process, before the fork.
    DidInParent(Change),
    /// Has it in use.
    HasInUse,
    /// Its memory goes, in one of the ways of [`lockwright_ledger::rows::object::object_end`].
    Ends(u8),
    /// Changes a state that the program has given it.
    ChangesState,
    /// Does something else to it.
    Uses,
}

impl Action {
    /// What a thread does to a lock of `kind` when it acquires it in `mode`.
    pub fn acquires(kind: u8, mode: u16) -> Self {
        match kind {
            _ if mode & mode::JOIN != 0 => Self::WaitsForEnd { timed: mode & mode::TIMED != 0 },
            _ if mode & mode::BARRIER != 0 => Self::WaitsAtBarrier,
            _ if mode & mode::COND_REACQUIRE != 0 => Self::Reacquires,
            _ if mode & mode::ONCE != 0 => Self::CallsOnce,
            lock_kind::RESOURCE => Self::Enters,
            lock_kind::COMPLETION => Self::WaitsFor,
            _ => Self::Acquires {
                // A kind of the program's own may have readers, too.
                access: if is_read(mode) { Access::shared(mode) } else { Access::of(kind, mode) },
                timed: mode & mode::TIMED != 0,
            },
        }
    }

    /// What a thread does that waits for a lock in `mode` for good.
    pub fn waits(mode: u16) -> Self {
        match mode {
            _ if mode & mode::JOIN != 0 => Self::WaitsToJoin,
            _ if mode & mode::BARRIER != 0 => Self::WaitsAtBarrier,
            _ if mode & mode::COND_REACQUIRE != 0 => Self::WaitsToReacquire,
            _ if mode & mode::SEM_WAIT != 0 => Self::WaitsForPost,
            _ if mode & mode::FUTEX_WAIT != 0 => Self::WaitsAtFutex,
            _ if is_read(mode) => Self::WaitsToRead,
            _ => Self::WaitsFor,
        }
    }

    /// What a handler would do to a lock.
    pub fn in_handler(mode: u16) -> Self {
        Self::WouldAcquireInHandler { reads: is_read(mode), timed: mode & mode::TIMED != 0 }
    }
}

/// Whether locks of `kind` are the C library's rwlocks.
pub fn is_rwlock(kind: u8) -> bool {
    matches!(kind, lock_kind::RWLOCK | lock_kind::RWLOCK_WRITER)
}
