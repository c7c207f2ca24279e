//! A lock is used in a context that does not allow it.

/// A handler calls what is not async-signal-safe.
#[derive(Clone, Debug)]
pub struct UnsafeCall {
    /// The signal.
    pub signal: u32,
    /// The same was in use outside with the signal open.
    pub may_interrupt: bool,
}

/// A lock that may sleep is taken inside spinning ones: those of the finding but the first.
#[derive(Clone, Debug)]
pub struct InvalidWaitContext;

/// A thread may sleep with a spinning lock held.
#[derive(Clone, Debug)]
pub enum SleepWithSpinlockHeld {
    /// In a call.
    InCall {
        /// The function; `None`: one of a later version.
        call: Option<&'static str>,
    },
    /// For a lock that it takes inside spinning ones: those of the finding but the first.
    ForLock,
}

/// An assertion about holding the lock does not hold.
#[derive(Clone, Debug)]
pub struct LockNotHeld {
    /// It is held, and asserted not to be.
    pub held: bool,
}
