//! A lock begins or ends while it is held, or is used after its end.

use crate::finding::ThreadInfo;

/// The memory of a held lock goes.
#[derive(Clone, Debug)]
pub enum HeldLockFreed {
    /// The lock was a local variable of a function that returns.
    FrameLeft,
    /// It is freed.
    Freed {
        /// The holder, if it is another thread.
        holder: Option<ThreadInfo>,
    },
}

/// A held lock is destroyed.
#[derive(Clone, Debug)]
pub struct HeldLockDestroyed {
    /// The holder, if it is another thread.
    pub holder: Option<ThreadInfo>,
}

/// A held lock is initialised again.
#[derive(Clone, Debug)]
pub struct HeldLockInitialised {
    /// The holder, if it is another thread.
    pub holder: Option<ThreadInfo>,
}

/// A destroyed lock is used.
#[derive(Clone, Debug)]
pub struct UseAfterDestroy {
    /// Who destroyed it.
    pub by: Option<ThreadInfo>,
}
