//! `std::sync::Mutex`.

use core::fmt;
use core::ops::{Deref, DerefMut};
use std::sync::{LockResult, TryLockError, TryLockResult};

use super::RawMutex;
use super::poison::{Flag, Taken};
use crate::annotate::{Lock, Subject};

/// As [`std::sync::Mutex`].
#[derive(Default)]
pub struct Mutex<T: ?Sized> {
    poison: Flag,
    inner: lock_api::Mutex<RawMutex, T>,
}

/// As [`std::sync::MutexGuard`].
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized> {
    pub(super) inner: lock_api::MutexGuard<'a, RawMutex, T>,
    pub(super) poison: &'a Flag,
    taken: Taken,
}

impl<T> Mutex<T> {
    /// A free mutex around `value`.
    #[inline]
    pub const fn new(value: T) -> Self {
        Self { poison: Flag::new(), inner: lock_api::Mutex::new(value) }
    }

    /// The value.
    ///
    /// # Errors
    /// It is poisoned: the error has the value.
    pub fn into_inner(self) -> LockResult<T> {
        let Self { poison, inner } = self;
        poison.check(inner.into_inner())
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the mutex and locks it.
    ///
    /// # Errors
    /// It is poisoned: the error has the guard.
    #[inline]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.guard(self.inner.lock())
    }

    /// Locks the mutex if it is free.
    ///
    /// # Errors
    /// It is locked, or it is poisoned.
    #[inline]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let inner = self.inner.try_lock().ok_or(TryLockError::WouldBlock)?;
        Ok(self.guard(inner)?)
    }

    #[inline]
    fn guard<'a>(
        &'a self,
        inner: lock_api::MutexGuard<'a, RawMutex, T>,
    ) -> LockResult<MutexGuard<'a, T>> {
        let taken = self.poison.taken();
        self.poison.check(MutexGuard { inner, poison: &self.poison, taken })
    }

    /// Whether a thread has panicked with the mutex locked.
    pub fn is_poisoned(&self) -> bool {
        self.poison.get()
    }

    /// Takes that back.
    pub fn clear_poison(&self) {
        self.poison.clear();
    }

    /// The value, which nobody else can have meanwhile.
    ///
    /// # Errors
    /// It is poisoned: the error has the value.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.poison.check(self.inner.get_mut())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let poisoned = self.is_poisoned();
        let mut out = f.debug_struct("Mutex");
        match self.inner.try_lock() {
            Some(guard) => out.field("data", &&*guard),
            None => out.field("data", &format_args!("<locked>")),
        };
        out.field("poisoned", &poisoned).finish_non_exhaustive()
    }
}

// As std's: a panic that leaves the value half changed leaves it poisoned.
impl<T: ?Sized> std::panic::UnwindSafe for Mutex<T> {}
impl<T: ?Sized> std::panic::RefUnwindSafe for Mutex<T> {}

// SAFETY: that of the lock inside.
unsafe impl<T: ?Sized> Subject for Mutex<T> {
    const SORT: u32 = Lock::SORT;
    #[inline(always)]
    fn address(&self) -> *const core::ffi::c_void {
        self.inner.address()
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.poison.released(self.taken);
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
