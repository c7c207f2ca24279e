//! A lock inside an rtmutex, held.

use core::marker::PhantomData;
use core::ops::Deref;

use super::raw_lock::RawLock;
use crate::platform::{Platform, Word};

impl<W: Word, T> RawLock<W, T> {
    /// Takes the lock.
    #[inline]
    pub fn lock<P: Platform<Word = W>>(&self) -> RawGuard<'_, P, T> {
        let key = P::raw_lock(&self.word);
        RawGuard { lock: self, key, platform: PhantomData }
    }
}

/// The lock held; dropped, released.
pub(crate) struct RawGuard<'a, P: Platform, T> {
    lock: &'a RawLock<P::Word, T>,
    /// The result of [`Platform::raw_lock`], for [`Platform::raw_unlock`].
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
        unsafe { P::raw_unlock(&raw const self.lock.word, self.key) };
    }
}
