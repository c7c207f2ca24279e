//! What the locks keep for each task.

use super::{Atomic, Word};
use crate::rtmutex::pi::PiState;
use crate::wait_lock::WaitCell;

/// The locks' storage of one task: the kernel's fields of `task_struct` that are about locks.
///
/// Invariant: zeroed memory is a valid new one where zeroed words are words of 0.
pub struct PerTask<W: Word, L: Atomic<usize>> {
    /// The kernel's `pi_lock` and what is under it.
    pub(crate) pi: WaitCell<W, PiState<W, L>>,
}

impl<W: Word, L: Atomic<usize>> PerTask<W, L> {
    /// Storage of a task that waits for nothing and that nobody waits for.
    pub fn new() -> Self {
        Self { pi: WaitCell::new(PiState::new()) }
    }
}

impl<W: Word, L: Atomic<usize>> Default for PerTask<W, L> {
    fn default() -> Self {
        Self::new()
    }
}
