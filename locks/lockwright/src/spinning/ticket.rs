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
///
/// # Rules
/// - A thread must not end while it holds the lock: nobody else may release it, and the waiters
///   wait for ever.
/// - The child of a fork must not take a lock that another thread held at the fork: it would spin
///   for ever.
/// - The holder must not sleep, do I/O or take a sleeping lock: the waiters spin meanwhile.
///
/// # Guarantees
/// - Ordering: the next holder sees all that a holder did before it released the lock.
/// - Fairness: first come, first served.
/// - Source: Linux on x86 from 2.6.25 to 4.1.
pub struct RawTicket<P: Platform> {
    word: P::Word,
}

impl<P: Platform> RawTicket<P> {
    /// A free lock.
    pub fn new_in() -> Self {
        Self { word: P::Word::new(0) }
    }

    /// Draws a ticket and waits for its turn.
    ///
    /// - The caller must not hold the lock already: it would spin for ever.
    ///   [`RawDebug`](crate::debug::RawDebug) returns `Recursion` instead.
    /// - A signal handler may call this only if every other user takes the lock with signals
    ///   blocked (`lock_irqsave`). Otherwise it spins for ever if it has interrupted the holder.
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
    ///
    /// - Any thread and any signal handler may call this: it does not wait for the holder. The
    ///   holder gets `false`.
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
    /// - The thread that took the lock must release it, once. After any other call two threads can
    ///   be inside at once. [`RawDebug`](crate::debug::RawDebug) returns `AlreadyUnlocked` or
    ///   `WrongOwner` instead.
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
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
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
