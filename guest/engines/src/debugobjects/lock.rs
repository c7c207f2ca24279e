//! The engine's locks: held for some loads and stores, taken with patience that ends, free again in
//! a forked child.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::pool::source::YIELDS;

/// Looks at a lock's word before the processor is given up: a holder that runs is done within some
/// 100 ns.
const SPINS: u32 = 64;

/// How long to wait for a lock.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    /// How often to let others run before giving up.
    pub turns: u32,
    /// Lets others run.
    pub relax: fn(turn: u32),
    /// The process that counts: what is held in another is not held here ([`Locked`]).
    pub era: u32,
}

impl Patience {
    /// For a thread that cannot have interrupted a holder: half a minute, in which it looks at the
    /// lock thousands of times, while locks are held for 100 ns. A thread that still has not got
    /// the lock waits for a holder that is gone.
    pub const LONG: u32 = YIELDS + 30_000;
    /// For a thread that may have interrupted a holder: ten milliseconds or so.
    pub const SHORT: u32 = YIELDS + 10;
}

/// Data under a lock. The word is the era that it is held in; any other value is free. So a fork,
/// which begins an era, frees in the child all locks that threads held which are not there.
pub(super) struct Locked<T> {
    word: AtomicU32,
    data: UnsafeCell<T>,
}

// SAFETY: the data is reached through the lock.
unsafe impl<T> Sync for Locked<T> {}

impl<T> Locked<T> {
    pub const fn new(data: T) -> Self {
        Self { word: AtomicU32::new(0), data: UnsafeCell::new(data) }
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self, era: u32) -> Option<Guard<'_, T>> {
        let seen = self.word.load(Relaxed);
        // Acquire pairs with the Release in `Guard::drop`: what the last holder wrote is there.
        let is_ours =
            seen != era && self.word.compare_exchange(seen, era, Acquire, Relaxed).is_ok();
        // Not `then_some`: a guard that is made and dropped lets the holder's lock go.
        is_ours.then(|| Guard { lock: self, was_contended: false })
    }

    /// Takes the lock; `None`: patience is at its end.
    #[inline]
    pub fn lock(&self, patience: &Patience) -> Option<Guard<'_, T>> {
        match self.try_lock(patience.era) {
            Some(guard) => Some(guard),
            None => self.lock_slow(patience),
        }
    }

    #[cold]
    fn lock_slow(&self, patience: &Patience) -> Option<Guard<'_, T>> {
        for looks in 0..SPINS + patience.turns {
            if let Some(mut guard) = self.try_lock(patience.era) {
                guard.was_contended = true;
                return Some(guard);
            }
            if looks < SPINS { core::hint::spin_loop() } else { (patience.relax)(looks - SPINS) }
        }
        None
    }

    /// The data, for what may be looked at without the lock.
    ///
    /// # Safety
    /// Holders of the lock change the data through atomics only.
    #[inline(always)]
    pub unsafe fn unlocked(&self) -> &T {
        // SAFETY: no holder has it by `&mut`, the caller's promise.
        unsafe { &*self.data.get() }
    }

    /// It is held in the given era.
    pub fn is_held(&self, era: u32) -> bool {
        self.word.load(Relaxed) == era
    }
}

/// The lock is held.
pub(super) struct Guard<'a, T> {
    lock: &'a Locked<T>,
    /// It was found taken.
    pub was_contended: bool,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: this guard exists only while its thread holds the lock, which excludes every
        // other thread.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held, and only through this guard.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        // Release pairs with the Acquire in `try_lock`.
        self.lock.word.store(0, Release);
    }
}
