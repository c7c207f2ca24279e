//! A lock stays held when nobody is left who would unlock it.

use crate::finding::ThreadInfo;
use crate::finding::action::Access;

/// A thread ends with the lock held.
#[derive(Clone, Debug)]
pub struct ExitWithLockHeld {
    /// How it holds it.
    pub access: Access,
    /// It holds it for reading.
    pub reads: bool,
    /// Another thread unlocked it later.
    pub unlocked_later: bool,
    /// There is a robust variant of such a lock.
    pub can_be_robust: bool,
}

/// The function that took the lock has returned, and its thread idles or ends the process.
#[derive(Clone, Debug)]
pub struct LeakedLock {
    /// That function.
    pub function: Option<String>,
    /// The process exits.
    pub exits: bool,
    /// In other passes the same call's lock is released before the function returns.
    pub releases_otherwise: bool,
}

/// A forked child uses a lock that was held at the fork.
#[derive(Clone, Debug)]
pub struct ForkWithLockHeld {
    /// The holder in the parent process.
    pub holder: Option<ThreadInfo>,
}
