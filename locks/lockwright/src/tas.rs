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
pub struct RawTas<P: Platform> {
    word: P::Word,
}

impl<P: Platform> RawTas<P> {
    /// A free lock.
    pub fn new_in() -> Self {
        Self { word: P::Word::new(FREE) }
    }

    /// Waits for the lock and takes it.
    #[inline]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_slow();
        }
    }

    /// Takes the lock if it is free.
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
    /// # Safety
    /// The caller holds it.
    #[inline]
    pub unsafe fn unlock(&self) {
        // Release: pairs with the Acquire in `try_lock`.
        self.word.store(FREE, Release);
    }

    /// Whether anyone holds it now.
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
