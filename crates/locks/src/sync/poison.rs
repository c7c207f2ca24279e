//! Poison: a thread has panicked while it changed what a lock guards.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{LockResult, PoisonError};
use std::thread;

/// Whether that has happened.
#[derive(Default)]
pub(super) struct Flag(AtomicBool);

/// Whether a thread was panicking when it took the lock: what it leaves behind then is not that
/// panic's fault.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    panicking: bool,
}

impl Flag {
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    pub fn get(&self) -> bool {
        // Relaxed: the lock orders it.
        self.0.load(Relaxed)
    }

    pub fn clear(&self) {
        // Relaxed: as above.
        self.0.store(false, Relaxed);
    }

    /// The lock has been taken.
    #[inline]
    pub fn taken(&self) -> Taken {
        Taken { panicking: thread::panicking() }
    }

    /// The lock is about to be released.
    #[inline]
    pub fn released(&self, taken: Taken) {
        if !taken.panicking && thread::panicking() {
            // Relaxed: as above.
            self.0.store(true, Relaxed);
        }
    }

    /// What is taken with the lock, as `std` has it.
    #[inline]
    pub fn check<T>(&self, value: T) -> LockResult<T> {
        if self.get() { Err(PoisonError::new(value)) } else { Ok(value) }
    }
}
