//! Locks around the routines of `pthread_once`.

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Call `pthread_once` without the lock held that its routine takes, or do not take it there.
    InitialiseWithoutLock {
        /// The control among the locks; the lock that is held is the one before it.
        once: usize,
    },
    /// Join a thread after the routine of `pthread_once` rather than in it, or call without the lock
    /// held that the thread needs.
    JoinAfterRoutine {
        /// The control among the locks; the thread's end is the one behind it, and the lock that is
        /// held the one before it.
        once: usize,
    },
    /// Do not call `pthread_once` for a control in its own routine.
    KeepOutOfRoutine,
    /// Do not have routines of `pthread_once` wait for each other.
    KeepRoutinesApart,
}
