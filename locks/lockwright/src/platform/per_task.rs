//! The locks' data for each task.

use super::word::{Atomic, Word};
use crate::rtmutex::pi::PiState;
use crate::rtmutex::raw_lock::RawLock;

/// The locks' storage of one task: the kernel's fields of `task_struct` that are about locks.
///
/// Invariant: zeroed memory is a valid new one where zeroed words are words of 0.
pub struct PerTask<W: Word, L: Atomic<usize>> {
    /// The kernel's `pi_lock` and what is under it.
    pub(crate) pi: RawLock<W, PiState<W, L>>,
    /// While a thread holds it, the task cannot leave its wait, and so the lock that the task waits
    /// for stays alive.
    pub(crate) stay: RawLock<W, ()>,
}

impl<W: Word, L: Atomic<usize>> PerTask<W, L> {
    /// Storage of a task that waits for nothing and that nobody waits for.
    pub fn new() -> Self {
        Self { pi: RawLock::new(PiState::new()), stay: RawLock::new(()) }
    }
}

impl<W: Word, L: Atomic<usize>> Default for PerTask<W, L> {
    fn default() -> Self {
        Self::new()
    }
}
