//! Poison: a thread has panicked while it changed what a lock guards.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{LockResult, PoisonError};
use std::thread;

/// Whether that has happened.
#[derive(Default)]
pub(super) struct Flag(AtomicBool);

/// A hold of the lock that can poison it: it does if a panic drops it. To be dropped before the lock
/// is released.
pub(super) struct Held<'a> {
    flag: &'a Flag,
    /// Whether the thread was panicking when it took the lock: what it leaves behind then is not
    /// that panic's fault.
    panicking: bool,
}

impl<'a> Held<'a> {
    /// The guard for a lock that is held already, and was taken while the thread was `panicking` or
    /// not.
    pub fn new(flag: &'a Flag, panicking: bool) -> Self {
        Self { flag, panicking }
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        self.flag.released(self.panicking);
    }
}

impl Flag {
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    #[inline]
    pub fn get(&self) -> bool {
        // Relaxed: the lock orders it.
        self.0.load(Relaxed)
    }

    pub fn clear(&self) {
        // Relaxed: as above.
        self.0.store(false, Relaxed);
    }

    /// The lock is about to be released, which was taken with the thread `panicking`.
    #[inline]
    pub fn released(&self, panicking: bool) {
        if !panicking && thread::panicking() {
            // Relaxed: the lock orders it.
            self.0.store(true, Relaxed);
        }
    }

    /// The lock has been taken.
    #[inline]
    pub fn held(&self) -> Held<'_> {
        Held { flag: self, panicking: thread::panicking() }
    }

    /// The result of taking the lock, as `std` has it.
    #[inline]
    pub fn check<T>(&self, value: T) -> LockResult<T> {
        if self.get() { Err(PoisonError::new(value)) } else { Ok(value) }
    }
}
