//! Why a task did not get an rtmutex.

/// Why a task did not get a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The caller would wait for itself, along a chain of waiting owners (-EDEADLK); or the chain
    /// has more than 1,024 of them. If several tasks close a cycle at the same time, more than one
    /// may get this error.
    Deadlock,
    /// The deadline has come (-ETIMEDOUT).
    TimedOut,
}
