//! The locks inside rtmutexes (the kernel's raw spinlocks), for a few instructions.
//!
//! A thread of a high priority may wait for one, and then no third thread may keep its holder from
//! running. [`Word::raw_lock`] ensures that, for each platform's words. No thread retries in a
//! loop: at a high priority it would itself keep the holder from running.

use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::ops::Deref;

use crate::platform::{Platform, Word};

/// A value under such a lock. Not recursive. It is shared by all platforms of the same words.
pub(crate) struct RawLock<W, T> {
    word: W,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through the guard only, by one thread at a time.
unsafe impl<W: Sync, T: Send> Sync for RawLock<W, T> {}

impl<W: Word, T> RawLock<W, T> {
    /// Free, around `value`.
    pub fn new(value: T) -> Self {
        Self { word: W::new(0), value: UnsafeCell::new(value) }
    }

    /// Free, around `value`, over a word of 0.
    #[cfg(feature = "std")]
    pub const fn from_word(word: W, value: T) -> Self {
        Self { word, value: UnsafeCell::new(value) }
    }

    /// Takes the lock.
    #[inline]
    pub fn lock<P: Platform<Word = W>>(&self) -> RawGuard<'_, P, T> {
        let key = self.word.raw_lock::<P>();
        RawGuard { lock: self, key, platform: PhantomData }
    }
}

/// The lock held; dropped, released.
pub(crate) struct RawGuard<'a, P: Platform, T> {
    lock: &'a RawLock<P::Word, T>,
    /// The result of [`Word::raw_lock`], for [`Word::raw_unlock`].
    key: u32,
    platform: PhantomData<P>,
}

impl<P: Platform, T> Deref for RawGuard<'_, P, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard exists only while its thread holds the lock, under which alone the
        // value is accessed.
        unsafe { &*self.lock.value.get() }
    }
}

impl<P: Platform, T> Drop for RawGuard<'_, P, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: `lock` made this guard when this thread took the word and got `key`.
        unsafe { P::Word::raw_unlock(&raw const self.lock.word, self.key) };
    }
}
