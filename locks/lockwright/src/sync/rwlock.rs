//! `std::sync::RwLock`.

use core::fmt;
use core::ops::{Deref, DerefMut};
use std::sync::{LockResult, TryLockError, TryLockResult};

use super::RawRwLock;
use super::poison::{Flag, Held};
use super::poisoning::{guard, poisoning_lock};
use crate::annotate::{Lock, Subject};

poisoning_lock! {
    /// As [`std::sync::RwLock`].
    ///
    /// - A guard must be dropped in the thread that locked the lock; it is not `Send`. A guard that
    ///   is forgotten leaves the lock locked for ever.
    /// - The child of a fork must not wait for a lock that other threads held or waited for at the
    ///   fork.
    /// - Ordering and fairness are those of
    ///   [`RawBiasedRwLock`](crate::biased_rwlock::RawBiasedRwLock): neither readers nor writers
    ///   starve.
    RwLock, lock_api::RwLock<RawRwLock, T>, T, lock_api::RwLock::new, try_read,
    /// Whether a thread has panicked with the lock locked to write.
}

/// As [`std::sync::RwLockReadGuard`].
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    pub(super) inner: lock_api::RwLockReadGuard<'a, RawRwLock, T>,
}

/// As [`std::sync::RwLockWriteGuard`].
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    // Before `inner`: dropped in this order.
    pub(super) held: Held<'a>,
    pub(super) inner: lock_api::RwLockWriteGuard<'a, RawRwLock, T>,
}

impl<T: ?Sized> RwLock<T> {
    /// Waits for the lock and locks it to read.
    ///
    /// - The caller must not hold the lock already, not even to read: a writer may have come in
    ///   between, and the two would wait for each other. `lockwright check` reports it.
    /// - A signal handler must not call this: it may have interrupted a holder.
    ///
    /// # Errors
    /// It is poisoned: the error has the guard.
    #[inline]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.poison.check(RwLockReadGuard { inner: self.inner.read() })
    }

    /// Locks it to read if that needs no waiting.
    ///
    /// - Any thread may call this: it does not wait. A reader may get a second guard.
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
    /// - The caller must not hold the lock already, in either mode: it would wait for ever.
    ///   `lockwright check` reports it.
    /// - A signal handler must not call this: it may have interrupted a holder.
    ///
    /// # Errors
    /// It is poisoned: the error has the guard.
    #[inline]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.guard(self.inner.write())
    }

    /// Locks it to write if that needs no waiting.
    ///
    /// - Any thread may call this: it does not wait. A holder gets [`TryLockError::WouldBlock`].
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
        self.poison.check(RwLockWriteGuard { held: self.poison.held(), inner })
    }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Goes on as a reader, with no writer in between.
    ///
    /// - The caller must not rely on the poison flag for a panic from here on: a reader does not
    ///   poison the lock.
    pub fn downgrade(this: Self) -> RwLockReadGuard<'a, T> {
        let Self { held, inner } = this;
        drop(held);
        RwLockReadGuard { inner: lock_api::RwLockWriteGuard::downgrade(inner) }
    }
}

guard!(reads RwLockReadGuard);
guard!(writes RwLockWriteGuard);
