//! The test-and-set lock, with a test before each set: the baseline of unfair locks, and the
//! "unfair lock" of the paravirtual spinlock's measurements.
//!
//! The first thread to see the word free has it. So no thread ever waits for a preempted waiter,
//! and no waiter has a claim.
//!
//! ```text
//!   word  0 free, 1 held
//! ```

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::platform::{Atomic, Platform, await_until};

const FREE: u32 = 0;
const HELD: u32 = 1;

/// A test-and-set lock. Not recursive.
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
/// - Fairness: none. Any waiter can starve.
/// - Source: the textbook lock; Linux's `virt_spin_lock`.
pub struct RawTas<P: Platform> {
    word: P::Word,
}

impl<P: Platform> RawTas<P> {
    /// A free lock.
    pub fn new_in() -> Self {
        Self { word: P::Word::new(FREE) }
    }

    /// Waits for the lock and takes it.
    ///
    /// - The caller must not hold the lock already: it would spin for ever.
    ///   [`RawDebug`](crate::debug::RawDebug) returns `Recursion` instead.
    /// - A signal handler may call this only if every other user takes the lock with signals
    ///   blocked (`lock_irqsave`). Otherwise it spins for ever if it has interrupted the holder.
    #[inline]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_slow();
        }
    }

    /// Takes the lock if it is free.
    ///
    /// - Any thread and any signal handler may call this: it does not wait for the holder. The
    ///   holder gets `false`.
    #[inline]
    pub fn try_lock(&self) -> bool {
        // Acquire: pairs with the Release in `unlock`; without it the section could see what was
        // before the last one.
        self.word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok()
    }

    #[cold]
    fn lock_slow(&self) {
        // Relaxed: a look; `try_lock` has the ordering. It keeps the line shared while the lock is
        // held.
        await_until::<P>(|| self.word.load(Relaxed) == FREE && self.try_lock());
    }

    /// Releases the lock.
    ///
    /// - The thread that took the lock must release it, once. After any other call two threads can
    ///   be inside at once. [`RawDebug`](crate::debug::RawDebug) returns `AlreadyUnlocked` or
    ///   `WrongOwner` instead.
    ///
    /// # Safety
    /// The caller holds it.
    #[inline]
    pub unsafe fn unlock(&self) {
        // Release: pairs with the Acquire in `try_lock`.
        self.word.store(FREE, Release);
    }

    /// Whether anyone holds it now.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    pub fn is_locked(&self) -> bool {
        // Relaxed: tells nothing of what the holder has done.
        self.word.load(Relaxed) != FREE
    }
}

#[cfg(feature = "std")]
impl RawTas<crate::platform::linux::Linux> {
    /// A free lock, for statics.
    pub const fn new() -> Self {
        Self { word: core::sync::atomic::AtomicU32::new(FREE) }
    }
}

#[cfg(feature = "std")]
impl Default for RawTas<crate::platform::linux::Linux> {
    fn default() -> Self {
        Self::new()
    }
}
