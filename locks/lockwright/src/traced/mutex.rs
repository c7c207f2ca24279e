//! Traced locks that one thread can have.

use lock_api::{RawMutex, RawMutexFair, RawMutexTimed};

use super::Traced;
use crate::annotate::{Flags, is_known_off, is_off};

impl<R: RawMutex, const FAIR: bool> Traced<R, FAIR> {
    /// Takes the lock, and reports it if there is a tool.
    #[cold]
    #[inline(never)]
    fn lock_told(&self) -> R::Guard {
        if is_off() {
            return self.raw.lock();
        }
        self.told_surely(Flags::EXCLUSIVE, R::try_lock, R::lock)
    }
}

// SAFETY: the lock inside excludes, and reporting does not change it.
unsafe impl<R: RawMutex, const FAIR: bool> RawMutex for Traced<R, FAIR> {
    const INIT: Self = Self::from_raw(R::INIT);
    type Guard = R::Guard;

    #[inline]
    fn lock(&self) -> R::Guard {
        if is_known_off() { self.raw.lock() } else { self.lock_told() }
    }

    #[inline]
    fn try_lock(&self) -> Option<R::Guard> {
        let taken = self.raw.try_lock();
        if is_off() { taken } else { self.told_try(Flags::EXCLUSIVE, taken) }
    }

    /// # Safety
    /// The contract is that of `RawMutex::unlock`.
    #[inline]
    unsafe fn unlock(&self, guard: R::Guard) {
        self.releases();
        // SAFETY: by the trait's contract the caller holds this lock by `guard`, which the lock
        // inside returned.
        unsafe { self.raw.unlock(guard) };
    }

    fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }
}

// SAFETY: the lock inside excludes, and reporting does not change it.
unsafe impl<R: RawMutexFair, const FAIR: bool> RawMutexFair for Traced<R, FAIR> {
    /// # Safety
    /// The contract is that of `RawMutexFair::unlock_fair`.
    #[inline]
    unsafe fn unlock_fair(&self, guard: R::Guard) {
        self.releases();
        // SAFETY: by the trait's contract the caller holds this lock by `guard`, which the lock
        // inside returned.
        unsafe { self.raw.unlock_fair(guard) };
    }
}

// SAFETY: the lock inside excludes, and reporting does not change it.
unsafe impl<R: RawMutexTimed, const FAIR: bool> RawMutexTimed for Traced<R, FAIR> {
    type Duration = R::Duration;
    type Instant = R::Instant;

    fn try_lock_for(&self, timeout: R::Duration) -> Option<R::Guard> {
        if is_off() {
            return self.raw.try_lock_for(timeout);
        }
        self.told_timed(Flags::EXCLUSIVE, R::try_lock, |raw| raw.try_lock_for(timeout))
    }

    fn try_lock_until(&self, timeout: R::Instant) -> Option<R::Guard> {
        if is_off() {
            return self.raw.try_lock_until(timeout);
        }
        self.told_timed(Flags::EXCLUSIVE, R::try_lock, |raw| raw.try_lock_until(timeout))
    }
}
