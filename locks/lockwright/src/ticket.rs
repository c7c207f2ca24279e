//! The ticket lock: the baseline of fair spinlocks, and the kernel's on x86 from 2.6.25 to 4.1.
//!
//! First come, first served. With more threads than CPUs the next in line may not be running, and
//! all wait for it: fairness is what makes it collapse.
//!
//! ```text
//!   word  bits 0-15   the ticket that is served
//!         bits 16-31  the next ticket to be drawn; equal: free
//! ```

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::platform::{Atomic, Platform, await_until};

const NEXT: u32 = 1 << 16;

const fn served(word: u32) -> u32 {
    word & (NEXT - 1)
}

const fn next(word: u32) -> u32 {
    word >> 16
}

/// A ticket lock. Not recursive; for fewer than 65,536 threads at once.
pub struct RawTicket<P: Platform> {
    word: P::Word,
}

impl<P: Platform> RawTicket<P> {
    /// A free lock.
    pub fn new_in() -> Self {
        Self { word: P::Word::new(0) }
    }

    /// Draws a ticket and waits for its turn.
    #[inline]
    pub fn lock(&self) {
        // Acquire: if the turn has come already, pairs with the Release in `unlock`.
        let word = self.word.fetch_add(NEXT, Acquire);
        if next(word) != served(word) {
            self.await_turn(next(word));
        }
    }

    #[cold]
    fn await_turn(&self, ticket: u32) {
        // Acquire: pairs with the Release in `unlock`.
        await_until::<P>(|| served(self.word.load(Acquire)) == ticket);
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> bool {
        // Relaxed: a look; the exchange below has the ordering.
        let word = self.word.load(Relaxed);
        // Acquire: pairs with the Release in `unlock`.
        next(word) == served(word)
            && self.word.compare_exchange(word, word.wrapping_add(NEXT), Acquire, Relaxed).is_ok()
    }

    /// Serves the next ticket.
    ///
    /// # Safety
    /// The caller holds the lock.
    #[inline]
    pub unsafe fn unlock(&self) {
        // Relaxed: only the holder changes what is served, and we are the holder.
        let word = self.word.load(Relaxed);
        if served(word) == NEXT - 1 {
            // Adding would carry into the tickets.
            // Release: as below.
            self.word.fetch_and(!(NEXT - 1), Release);
        } else {
            // Release: pairs with the Acquires in `lock`, `await_turn` and `try_lock`.
            self.word.fetch_add(1, Release);
        }
    }

    /// Whether anyone holds it now.
    pub fn is_locked(&self) -> bool {
        // Relaxed: tells nothing of what the holder has done.
        let word = self.word.load(Relaxed);
        next(word) != served(word)
    }
}

#[cfg(feature = "std")]
impl RawTicket<crate::platform::linux::Linux> {
    /// A free lock, for statics.
    pub const fn new() -> Self {
        Self { word: core::sync::atomic::AtomicU32::new(0) }
    }
}

#[cfg(feature = "std")]
impl Default for RawTicket<crate::platform::linux::Linux> {
    fn default() -> Self {
        Self::new()
    }
}
