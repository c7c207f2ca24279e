//! The data that the locks protect where acquisitions are counted.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::workers::Padded;

/// A counter that is incremented under a lock, and loses increments if that lock does not exclude.
pub struct Counter(Padded<AtomicU64>);

impl Counter {
    /// 0.
    pub fn new() -> Self {
        Self(Padded(AtomicU64::new(0)))
    }

    /// Adds one, in two steps, as a number that is no atomic would be incremented.
    #[inline(always)]
    pub fn increment(&self) {
        // Relaxed, both: the lock orders them.
        self.0.0.store(self.0.0.load(Relaxed) + 1, Relaxed);
    }

    /// Its value.
    pub fn into_inner(self) -> u64 {
        self.0.0.into_inner()
    }
}
