//! `std::sync::Mutex`.

use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use std::sync::{LockResult, TryLockError, TryLockResult};
use std::thread;

use lock_api::GuardNoSend;

use super::RawMutex;
use super::poison::{Flag, Held};
use super::poisoning::{guard, poisoning_lock};
use crate::annotate::{Lock, Subject};

poisoning_lock! {
    /// As [`std::sync::Mutex`].
    ///
    /// - A guard must be dropped in the thread that locked the mutex; it is not `Send`. A guard
    ///   that is forgotten leaves the mutex locked for ever.
    /// - The child of a fork must not lock a mutex that another thread held at the fork: it would
    ///   wait for ever.
    /// - Ordering and fairness are those of
    ///   [`RawHybridMutex`](crate::hybrid_mutex::RawHybridMutex): no thread starves.
    Mutex, lock_api::Mutex<RawMutex, T>, T, lock_api::Mutex::new, try_lock,
    /// Whether a thread has panicked with the mutex locked.
}

/// The guard of the crate `lock_api`.
type Inner<'a, T> = lock_api::MutexGuard<'a, RawMutex, T>;

/// As [`std::sync::MutexGuard`].
///
/// It fits into two registers. A larger one goes through memory, in pieces that do not fit those in
/// which it is read, for which the CPU waits.
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    /// Whether the thread was panicking when it took the lock, as in [`Held`].
    panicking: bool,
    /// It may be sent to other threads where that one may.
    inner: PhantomData<Inner<'a, T>>,
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the mutex and locks it.
    ///
    /// - The caller must not hold the lock already: it would wait for ever. `lockwright check`
    ///   reports it.
    /// - A signal handler must not call this: it may have interrupted the holder.
    ///
    /// # Errors
    /// It is poisoned: the error has the guard.
    #[inline]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        core::mem::forget(self.inner.lock());
        self.poison.check(MutexGuard::locked(self))
    }

    /// Locks the mutex if it is free.
    ///
    /// - Any thread may call this: it does not wait. The holder gets [`TryLockError::WouldBlock`].
    ///
    /// # Errors
    /// It is locked, or it is poisoned.
    #[inline]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        core::mem::forget(self.inner.try_lock().ok_or(TryLockError::WouldBlock)?);
        Ok(self.poison.check(MutexGuard::locked(self))?)
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// That of a mutex that the thread has just locked.
    #[inline]
    fn locked(mutex: &'a Mutex<T>) -> Self {
        Self { mutex, panicking: thread::panicking(), inner: PhantomData }
    }

    /// Whether it is poisoned.
    pub(super) fn poison(&self) -> &'a Flag {
        &self.mutex.poison
    }

    /// Its two parts in one, as they are with other guards.
    pub(super) fn into_parts(self) -> (Held<'a>, Inner<'a, T>) {
        let this = ManuallyDrop::new(self);
        let held = Held::new(&this.mutex.poison, this.panicking);
        // SAFETY: `this` has the mutex locked, and gives that over.
        (held, unsafe { this.mutex.inner.make_guard_unchecked(GuardNoSend::new()) })
    }

    /// Calls `f` with the guard that a condition variable takes.
    pub(super) fn with_inner<R>(&mut self, f: impl FnOnce(&mut Inner<'a, T>) -> R) -> R {
        // SAFETY: `self` has the mutex locked, and nothing is done by it meanwhile; the other guard
        // is not dropped.
        let mut inner =
            ManuallyDrop::new(unsafe { self.mutex.inner.make_guard_unchecked(GuardNoSend::new()) });
        f(&mut inner)
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.mutex.poison.released(self.panicking);
        // SAFETY: the guard has it locked.
        unsafe { self.mutex.inner.force_unlock(GuardNoSend::new()) };
    }
}

guard!(writes MutexGuard, |guard| guard.mutex.inner.data_ptr());
