//! How often each event has happened on a CPU.

use core::sync::atomic::Ordering::Relaxed;

use super::list::Event;
use crate::platform::Atomic;

/// Counts by event, of one CPU: as many as [`Event::ALL`], in its order.
pub(crate) struct Counts<L>(pub(super) [L; Event::ALL.len()]);

impl<L: Atomic<usize>> Counts<L> {
    pub(crate) fn new() -> Self {
        Self(core::array::from_fn(|_| L::new(0)))
    }

    /// Adds to the calling CPU's own count.
    pub(super) fn add(&self, event: Event, n: usize) {
        // Relaxed: a statistic. No atomic addition, as only the CPU's own thread adds; what a
        // signal handler counts in between may be lost.
        let count = &self.0[event as usize];
        count.store(count.load(Relaxed).wrapping_add(n), Relaxed);
    }
}
