//! The owner word of a reader-writer semaphore, for optimistic spinners.
//!
//! ```text
//!   word  bit 0  the task is that of a reader: of the last that came, which may have left
//!         bit 1  not to be spun on: readers have held it for too long
//!         rest   the task; 0: no writer, or one that has just come or is just leaving
//! ```
//!
//! Hints: everything is Relaxed, and what a reader stores may be older than it looks.

use core::sync::atomic::Ordering::Relaxed;

use crate::platform::{Atomic, Platform, Task};

const READER: usize = 1 << 0;
const NONSPINNABLE: usize = 1 << 1;

/// The holder of the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    Nobody,
    Writer(Task),
    Readers,
    /// Any holder: waiters should sleep instead of spinning.
    Nonspinnable,
}

/// The owner field.
pub(super) struct Owner<P: Platform>(P::Long);

impl<P: Platform> Owner<P> {
    pub const fn from_long(long: P::Long) -> Self {
        Self(long)
    }

    pub fn new() -> Self {
        Self::from_long(P::Long::new(0))
    }

    /// The caller has it to write.
    #[inline]
    pub fn set_writer(&self) {
        self.0.store(P::current().number(), Relaxed);
    }

    /// No writer has it.
    #[inline]
    pub fn clear(&self) {
        self.0.store(0, Relaxed);
    }

    /// A reader has it.
    #[inline]
    pub fn set_reader(&self, task: Task) {
        let kept = self.0.load(Relaxed) & NONSPINNABLE;
        self.0.store(task.number() | READER | kept, Relaxed);
    }

    /// Readers have it for longer than one spins.
    pub fn set_nonspinnable(&self) {
        let mut owner = self.0.load(Relaxed);
        while owner & (READER | NONSPINNABLE) == READER {
            match self.0.compare_exchange(owner, owner | NONSPINNABLE, Relaxed, Relaxed) {
                Ok(_) => return,
                Err(seen) => owner = seen,
            }
        }
    }

    /// Whether the last who came is a reader, be it one of those who are not to be spun on.
    pub fn is_reader(&self) -> bool {
        self.0.load(Relaxed) & READER != 0
    }

    pub fn is_nonspinnable(&self) -> bool {
        self.0.load(Relaxed) & NONSPINNABLE != 0
    }

    /// Clears the mark when the readers that it was set for have left.
    pub fn clear_nonspinnable(&self) {
        if self.is_nonspinnable() {
            self.0.fetch_and(!NONSPINNABLE, Relaxed);
        }
    }

    pub fn holder(&self) -> Holder {
        let owner = self.0.load(Relaxed);
        match Task::from_owner(owner) {
            _ if owner & NONSPINNABLE != 0 => Holder::Nonspinnable,
            _ if owner & READER != 0 => Holder::Readers,
            None => Holder::Nobody,
            Some(task) => Holder::Writer(task),
        }
    }
}
