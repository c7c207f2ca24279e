//! Which locks a CPU reads: the table of visible readers of BRAVO (Dice and Kogan, *BRAVO: Biased
//! locking for reader-writer locks*, USENIX ATC 2019), which [`crate::biased_rwlock`] is after.
//!
//! Theirs is one table of the process, where a lock and a thread hash to an entry. Here each CPU
//! has a line of its own, which only its readers and a thread that waits for them write to.
//!
//! An entry is not a hold: a thread that has taken a lock twice, once in an entry and once
//! elsewhere, may release either one. Only both together say how often it has the lock. So a signal
//! handler can come between any two steps here.

mod entries;

use core::sync::atomic::Ordering::{Relaxed, Release, SeqCst};

pub(crate) use entries::VisibleReaders;

use crate::platform::{Atomic, Platform, Word};
use entries::{AWAITED, FREE};

impl<W: Word, L: Atomic<usize>> VisibleReaders<W, L> {
    /// Ends what [`VisibleReaders::enter`] began. False: no entry has the lock.
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
