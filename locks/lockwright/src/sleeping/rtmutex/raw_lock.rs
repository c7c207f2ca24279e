//! The locks inside rtmutexes (the kernel's raw spinlocks), for a few instructions.
//!
//! A thread of a high priority may wait for one, and then no third thread may keep its holder from
//! running. [`crate::platform::Platform::raw_lock`] ensures that, for each platform. No thread retries in a
//! loop: at a high priority it would itself keep the holder from running.

use core::cell::UnsafeCell;

use crate::platform::Word;

/// A value under such a lock. Not recursive. It is shared by all platforms of the same words.
pub(crate) struct RawLock<W, T> {
    pub(super) word: W,
    pub(super) value: UnsafeCell<T>,
}

// SAFETY: the value is reached through [`super::raw_guard`] only, by one thread at a time.
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
}
