//! `std::sync::Mutex`.

use core::fmt;
use core::ops::{Deref, DerefMut};
use std::sync::{LockResult, TryLockError, TryLockResult};

use super::RawMutex;
use super::poison::{Flag, Held};
use super::poisoning::{guard, poisoning_lock};
use crate::annotate::{Lock, Subject};

poisoning_lock! {
    /// As [`std::sync::Mutex`].
    Mutex, lock_api::Mutex<RawMutex, T>, T, lock_api::Mutex::new, try_lock,
    /// Whether a thread has panicked with the mutex locked.
}

/// As [`std::sync::MutexGuard`].
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized> {
    // Before `inner`: dropped in this order.
    pub(super) held: Held<'a>,
    pub(super) inner: lock_api::MutexGuard<'a, RawMutex, T>,
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
        self.poison.check(MutexGuard { held: self.poison.held(), inner })
    }
}

guard!(writes MutexGuard);
