//! A CPU's entries.

use core::sync::atomic::Ordering::{Acquire, Relaxed};

use crate::platform::{Atomic, Word};

/// Locks that a CPU can read at once by entries. A thread that reads more takes the further ones
/// without an entry.
const ENTRIES: usize = 3;

/// No lock.
pub(super) const FREE: usize = 0;

/// In `left`: somebody sleeps until a lock of this CPU is left.
pub(super) const AWAITED: u32 = 1;

/// A CPU's entries: a line.
#[repr(align(64))]
pub(crate) struct VisibleReaders<W, L> {
    /// The names of locks.
    pub(super) locks: [L; ENTRIES],
    /// AWAITED, and above it how often readers have left while somebody waited for that.
    pub(super) left: W,
    /// How often the CPU has met other readers.
    met: W,
    /// How many locks the CPU has named.
    named: L,
}

impl<W: Word, L: Atomic<usize>> VisibleReaders<W, L> {
    /// Nothing is read.
    pub(crate) fn new() -> Self {
        Self {
            locks: core::array::from_fn(|_| L::new(FREE)),
            left: W::new(0),
            met: W::new(0),
            named: L::new(0),
        }
    }

    /// A name for a lock that no other has: `cpu` is this one's number. Its lowest two bits are 0.
    pub(crate) fn name(&self, cpu: u32) -> usize {
        // Relaxed: only to be unique.
        let count = self.named.fetch_add(1, Relaxed);
        (((count + 1) << 14) | (cpu as usize & ((1 << 14) - 1))) << 2
    }

    /// Notes that the calling CPU has met other readers. True for the first time, and then for each
    /// sixteenth: so seldom does it look at the clock.
    pub(crate) fn meets_often(&self) -> bool {
        // Relaxed, and no exchange: a signal handler in between makes it a little more often.
        let met = self.met.load(Relaxed);
        self.met.store(met.wrapping_add(1), Relaxed);
        met % 16 == 0
    }

    /// Makes the calling CPU a reader of `lock`, as far as those can know who look at the entries
    /// after a fence. False: there is no free entry.
    #[inline]
    pub(crate) fn enter(&self, lock: usize) -> bool {
        // Relaxed: the caller's fence orders.
        self.locks.iter().any(|entry| {
            entry.load(Relaxed) == FREE
                && entry.compare_exchange(FREE, lock, Relaxed, Relaxed).is_ok()
        })
    }

    #[cold]
    pub(super) fn tell(&self) {
        // Relaxed: the waiter looks at the entries. The addition clears AWAITED, or sets it for
        // nothing if a signal handler has cleared it meanwhile.
        self.left.fetch_add(AWAITED, Relaxed);
        W::wake(&raw const self.left, u32::MAX);
    }

    /// Whether an entry has the lock.
    pub(crate) fn is_reading(&self, lock: usize) -> bool {
        // Acquire: pairs with the Release in `leave`.
        self.locks.iter().any(|entry| entry.load(Acquire) == lock)
    }

    /// Whether an entry has any lock.
    #[cfg(feature = "std")]
    pub(crate) fn is_reading_any(&self) -> bool {
        // Relaxed: of the calling thread's own entries.
        self.locks.iter().any(|entry| entry.load(Relaxed) != FREE)
    }
}
