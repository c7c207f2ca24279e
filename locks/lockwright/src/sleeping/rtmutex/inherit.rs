//! Lets the platform know what a task inherits.

use super::pi::PiState;
use crate::platform::{Atomic, Platform, Task, Word};

impl<W: Word, L: Atomic<usize>> PiState<W, L> {
    /// Lets the platform know what the task inherits, if that has changed.
    pub(super) fn tell<P: Platform>(&self, task: Task) {
        let inherited = self.inherited();
        let now = (inherited.is_some(), inherited.unwrap_or(0));
        if self.told.replace(now) != now {
            P::set_priority(task, inherited);
        }
    }
}
