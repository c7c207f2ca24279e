//! `std::sync::RwLock`.

use core::fmt;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use core::ptr;
use std::sync::{LockResult, TryLockError, TryLockResult};

use super::RawRwLock;
use super::poison::{Flag, Taken};
use crate::annotate::{Lock, Subject};

/// As [`std::sync::RwLock`].
#[derive(Default)]
pub struct RwLock<T: ?Sized> {
    poison: Flag,
    inner: lock_api::RwLock<RawRwLock, T>,
}

/// As [`std::sync::RwLockReadGuard`].
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    inner: lock_api::RwLockReadGuard<'a, RawRwLock, T>,
}

/// As [`std::sync::RwLockWriteGuard`].
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    inner: lock_api::RwLockWriteGuard<'a, RawRwLock, T>,
    poison: &'a Flag,
    taken: Taken,
}

impl<T> RwLock<T> {
    /// A free lock around `value`.
    #[inline]
    pub const fn new(value: T) -> Self {
        Self { poison: Flag::new(), inner: lock_api::RwLock::new(value) }
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

impl<T: ?Sized> RwLock<T> {
    /// Waits for the lock and locks it to read.
    ///
    /// # Errors
    /// It is poisoned: the error has the guard.
    #[inline]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.poison.check(RwLockReadGuard { inner: self.inner.read() })
    }

    /// Locks it to read if that needs no waiting.
    ///
    /// # Errors
    /// It is locked, or it is poisoned.
    #[inline]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let inner = self.inner.try_read().ok_or(TryLockError::WouldBlock)?;
        Ok(self.poison.check(RwLockReadGuard { inner })?)
    }

    /// Waits for the lock and locks it to write.
    ///
    /// # Errors
    /// It is poisoned: the error has the guard.
    #[inline]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.guard(self.inner.write())
    }

    /// Locks it to write if that needs no waiting.
    ///
    /// # Errors
    /// It is locked, or it is poisoned.
    #[inline]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let inner = self.inner.try_write().ok_or(TryLockError::WouldBlock)?;
        Ok(self.guard(inner)?)
    }

    #[inline]
    fn guard<'a>(
        &'a self,
        inner: lock_api::RwLockWriteGuard<'a, RawRwLock, T>,
    ) -> LockResult<RwLockWriteGuard<'a, T>> {
        let taken = self.poison.taken();
        self.poison.check(RwLockWriteGuard { inner, poison: &self.poison, taken })
    }

    /// Whether a thread has panicked with the lock locked to write.
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

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Goes on as a reader, with no writer in between.
    pub fn downgrade(this: Self) -> RwLockReadGuard<'a, T> {
        let this = ManuallyDrop::new(this);
        this.poison.released(this.taken);
        // SAFETY: taken out of what is not dropped, once.
        let inner = unsafe { ptr::read(&raw const this.inner) };
        RwLockReadGuard { inner: lock_api::RwLockWriteGuard::downgrade(inner) }
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let poisoned = self.is_poisoned();
        let mut out = f.debug_struct("RwLock");
        match self.inner.try_read() {
            Some(guard) => out.field("data", &&*guard),
            None => out.field("data", &format_args!("<locked>")),
        };
        out.field("poisoned", &poisoned).finish_non_exhaustive()
    }
}

// As std's: a panic that leaves the value half changed leaves it poisoned.
impl<T: ?Sized> std::panic::UnwindSafe for RwLock<T> {}
impl<T: ?Sized> std::panic::RefUnwindSafe for RwLock<T> {}

// SAFETY: that of the lock inside.
unsafe impl<T: ?Sized> Subject for RwLock<T> {
    const SORT: u32 = Lock::SORT;
    #[inline(always)]
    fn address(&self) -> *const core::ffi::c_void {
        self.inner.address()
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.poison.released(self.taken);
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

macro_rules! shown {
    ($($guard:ident: $trait:ident;)*) => { $(
        impl<T: ?Sized + fmt::$trait> fmt::$trait for $guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }
    )* };
}

shown! {
    RwLockReadGuard: Debug;
    RwLockReadGuard: Display;
    RwLockWriteGuard: Debug;
    RwLockWriteGuard: Display;
}
