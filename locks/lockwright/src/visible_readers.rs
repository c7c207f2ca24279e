//! Which locks a CPU reads: the table of visible readers of BRAVO (Dice and Kogan, *BRAVO: Biased
//! locking for reader-writer locks*, USENIX ATC 2019), which [`crate::biased_rwlock`] is after.
//!
//! Theirs is one table of the process, where a lock and a thread hash to an entry. Here each CPU
//! has a line of its own, which only its readers and a thread that waits for them write to.
//!
//! An entry is not a hold: a thread that has taken a lock twice, once in an entry and once
//! elsewhere, may release either one. Only both together say how often it has the lock. So a signal
//! handler can come between any two steps here.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use crate::platform::{Atomic, Platform, Word};

/// Locks that a CPU can read at once by entries. A thread that reads more takes the further ones
/// without an entry.
const ENTRIES: usize = 3;

/// No lock.
const FREE: usize = 0;

/// In `left`: somebody sleeps until a lock of this CPU is left.
const AWAITED: u32 = 1;

/// A CPU's entries: a line.
#[repr(align(64))]
pub(crate) struct VisibleReaders<W, L> {
    /// The names of locks.
    locks: [L; ENTRIES],
    /// AWAITED, and above it how often readers have left while somebody waited for that.
    left: W,
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

    /// Ends that. False: no entry has the lock.
    #[inline]
    pub(crate) fn leave<P: Platform<Word = W>>(&self, lock: usize) -> bool {
        // Release: pairs with the Acquire in `is_reading`.
        let left = self.locks.iter().any(|entry| {
            entry.load(Relaxed) == lock
                && entry.compare_exchange(lock, FREE, Release, Relaxed).is_ok()
        });
        if left {
            // Pairs with the fence in `await_leaving`: it sees the entry free, or we see AWAITED.
            P::fence_after_atomic();
            if self.left.load(Relaxed) & AWAITED != 0 {
                self.tell();
            }
        }
        left
    }

    #[cold]
    fn tell(&self) {
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

    /// Waits until no entry has the lock, which nobody enters any more. False: the deadline has
    /// come.
    pub(crate) fn await_leaving<P: Platform<Word = W>>(
        &self,
        lock: usize,
        deadline: Option<u64>,
    ) -> bool {
        let mut rounds = 0;
        while self.is_reading(lock) {
            if !P::need_resched(rounds) {
                rounds += 1;
                P::relax();
                continue;
            }
            // Relaxed: the fence orders.
            let seen = self.left.fetch_or(AWAITED, Relaxed) | AWAITED;
            // Pairs with that in `leave`.
            P::fence(SeqCst);
            if self.is_reading(lock) && !self.left.wait(seen, deadline) {
                return false;
            }
        }
        true
    }
}
