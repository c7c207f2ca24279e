//! The lock inside sleeping locks, for the few instructions that change a wait list (the kernel's raw
//! `wait_lock`). Spins as the kernel's does, but only so long: here its holder may have been preempted, and then
//! sleeping is cheaper.
//!
//! ```text
//!   word  0 free, 1 held, 2 held and somebody may sleep
//! ```
//!
//! The word is "Mutex 2" of Ulrich Drepper, *Futexes Are Tricky* (2011).

use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::platform::{Atomic, Platform, Word};

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

/// A value under a short lock. Not recursive.
pub(crate) struct WaitLock<P: Platform, T>(WaitCell<P::Word, T>);

impl<P: Platform, T> WaitLock<P, T> {
    /// Free, around `value`, over a word of 0.
    #[cfg(feature = "std")]
    pub const fn from_word(word: P::Word, value: T) -> Self {
        Self(WaitCell { word, value: UnsafeCell::new(value) })
    }

    /// Free, around `value`.
    pub fn new(value: T) -> Self {
        Self(WaitCell::new(value))
    }

    /// Takes the lock.
    #[inline]
    pub fn lock(&self) -> WaitGuard<'_, P, T> {
        self.0.lock()
    }
}

/// The same, for what the locks keep per task: it is shared by all platforms of the same words.
pub(crate) struct WaitCell<W, T> {
    word: W,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through the guard only, by one thread at a time.
unsafe impl<W: Sync, T: Send> Sync for WaitCell<W, T> {}

impl<W: Word, T> WaitCell<W, T> {
    /// Free, around `value`.
    pub fn new(value: T) -> Self {
        Self { word: W::new(FREE), value: UnsafeCell::new(value) }
    }

    /// Free, around `value`, over a word of 0.
    #[cfg(feature = "std")]
    pub const fn from_word(word: W, value: T) -> Self {
        Self { word, value: UnsafeCell::new(value) }
    }

    /// Takes the lock.
    #[inline]
    pub fn lock<P: Platform<Word = W>>(&self) -> WaitGuard<'_, P, T> {
        self.try_lock().unwrap_or_else(|| self.lock_slow())
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock<P: Platform<Word = W>>(&self) -> Option<WaitGuard<'_, P, T>> {
        // Acquire: pairs with the Release in the guard's drop.
        let taken = self.word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok();
        taken.then(|| WaitGuard { lock: self, platform: PhantomData })
    }

    #[cold]
    fn lock_slow<P: Platform<Word = W>>(&self) -> WaitGuard<'_, P, T> {
        let mut rounds = 0;
        // Relaxed: looks; the exchanges have the ordering.
        while self.word.load(Relaxed) == HELD && !P::need_resched(rounds) {
            rounds += 1;
            P::relax();
        }
        // Who comes here leaves CONTENDED behind, also where nobody sleeps any more: it cannot know, and its
        // unlock wakes once in vain.
        // Acquire: pairs with the Release in the guard's drop.
        while self.word.swap(CONTENDED, Acquire) != FREE {
            self.word.wait(CONTENDED, None);
        }
        WaitGuard { lock: self, platform: PhantomData }
    }
}

/// The lock held; dropped, released.
pub(crate) struct WaitGuard<'a, P: Platform, T> {
    lock: &'a WaitCell<P::Word, T>,
    platform: PhantomData<P>,
}

impl<P: Platform, T> Deref for WaitGuard<'_, P, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.lock.value.get() }
    }
}

impl<P: Platform, T> DerefMut for WaitGuard<'_, P, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held, and the guard borrowed as a whole.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<P: Platform, T> Drop for WaitGuard<'_, P, T> {
    #[inline]
    fn drop(&mut self) {
        let word = &raw const self.lock.word;
        // Release: pairs with the Acquires in `lock` and `lock_slow`. From here on the lock may be gone.
        if self.lock.word.swap(FREE, Release) == CONTENDED {
            P::Word::wake(word, 1);
        }
    }
}
