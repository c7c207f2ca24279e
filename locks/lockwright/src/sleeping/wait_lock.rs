//! The lock inside sleeping locks, for the few instructions that change a wait list (the kernel's
//! raw `wait_lock`): a value under [`crate::platform::short_lock`].

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};

use crate::platform::short_lock::{lock, unlock};
use crate::platform::{Atomic, Platform, spins};

/// A value under a short lock. Not recursive.
pub struct WaitLock<P: Platform, T> {
    word: P::Word,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through the guard only, by one thread at a time.
unsafe impl<P: Platform, T: Send> Sync for WaitLock<P, T> {}

impl<P: Platform, T> WaitLock<P, T> {
    /// Free, around `value`, over a word of 0.
    #[cfg(feature = "std")]
    pub const fn from_word(word: P::Word, value: T) -> Self {
        Self { word, value: UnsafeCell::new(value) }
    }

    /// Free, around `value`.
    pub fn new(value: T) -> Self {
        Self { word: P::Word::new(0), value: UnsafeCell::new(value) }
    }

    /// Takes the lock.
    #[inline]
    pub fn lock(&self) -> WaitGuard<'_, P, T> {
        lock(&self.word, spins::<P>);
        WaitGuard(self)
    }
}

/// The lock held; dropped, released.
pub struct WaitGuard<'a, P: Platform, T>(&'a WaitLock<P, T>);

impl<P: Platform, T> Deref for WaitGuard<'_, P, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard exists only while its thread holds the lock, under which alone the
        // value is accessed.
        unsafe { &*self.0.value.get() }
    }
}

impl<P: Platform, T> DerefMut for WaitGuard<'_, P, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held, and the guard borrowed as a whole.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<P: Platform, T> Drop for WaitGuard<'_, P, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: `lock` took the word for this thread when it made this guard.
        unsafe { unlock(&raw const self.0.word) };
    }
}
