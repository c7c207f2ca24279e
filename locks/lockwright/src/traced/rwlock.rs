//! Traced reader-writer locks. The type says whether a reader waits behind a waiting writer, and so perhaps for other
//! readers.

use lock_api::{RawRwLock, RawRwLockDowngrade, RawRwLockFair, RawRwLockTimed};

use super::Traced;
use crate::annotate::{Flags, is_off};

// SAFETY: the lock inside excludes, and reporting does not change it.
unsafe impl<R: RawRwLock, const FAIR: bool> RawRwLock for Traced<R, FAIR> {
    const INIT: Self = Self::from_raw(R::INIT);
    type SharedGuard = R::SharedGuard;
    type ExclusiveGuard = R::ExclusiveGuard;

    #[inline]
    fn lock_shared(&self) -> R::SharedGuard {
        if is_off() {
            return self.raw.lock_shared();
        }
        self.told_surely(Self::READ, R::try_lock_shared, R::lock_shared)
    }

    #[inline]
    fn try_lock_shared(&self) -> Option<R::SharedGuard> {
        let taken = self.raw.try_lock_shared();
        if is_off() { taken } else { self.told_try(Self::READ, taken) }
    }

    /// # Safety
    /// The contract is that of `RawRwLock::unlock_shared`.
    #[inline]
    unsafe fn unlock_shared(&self, guard: R::SharedGuard) {
        self.releases();
        // SAFETY: by the trait's contract the caller reads by `guard`, which the lock inside
        // returned.
        unsafe { self.raw.unlock_shared(guard) };
    }

    #[inline]
    fn lock_exclusive(&self) -> R::ExclusiveGuard {
        if is_off() {
            return self.raw.lock_exclusive();
        }
        self.told_surely(Flags::EXCLUSIVE, R::try_lock_exclusive, R::lock_exclusive)
    }

    #[inline]
    fn try_lock_exclusive(&self) -> Option<R::ExclusiveGuard> {
        let taken = self.raw.try_lock_exclusive();
        if is_off() { taken } else { self.told_try(Flags::EXCLUSIVE, taken) }
    }

    /// # Safety
    /// The contract is that of `RawRwLock::unlock_exclusive`.
    #[inline]
    unsafe fn unlock_exclusive(&self, guard: R::ExclusiveGuard) {
        self.releases();
        // SAFETY: by the trait's contract the caller writes by `guard`, which the lock inside
        // returned.
        unsafe { self.raw.unlock_exclusive(guard) };
    }

    fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }

    fn is_locked_exclusive(&self) -> bool {
        self.raw.is_locked_exclusive()
    }
}

// SAFETY: the lock inside excludes, and reporting does not change it.
unsafe impl<R: RawRwLockFair, const FAIR: bool> RawRwLockFair for Traced<R, FAIR> {
    /// # Safety
    /// The contract is that of `RawRwLockFair::unlock_shared_fair`.
    #[inline]
    unsafe fn unlock_shared_fair(&self, guard: R::SharedGuard) {
        self.releases();
        // SAFETY: by the trait's contract the caller reads by `guard`, which the lock inside
        // returned.
        unsafe { self.raw.unlock_shared_fair(guard) };
    }

    /// # Safety
    /// The contract is that of `RawRwLockFair::unlock_exclusive_fair`.
    #[inline]
    unsafe fn unlock_exclusive_fair(&self, guard: R::ExclusiveGuard) {
        self.releases();
        // SAFETY: by the trait's contract the caller writes by `guard`, which the lock inside
        // returned.
        unsafe { self.raw.unlock_exclusive_fair(guard) };
    }
}

impl<R, const FAIR: bool> Traced<R, FAIR> {
    /// The flags that the tool gets for a reader.
    pub(super) const READ: Flags = if FAIR { Flags::FAIR_READ } else { Flags::READ };

    /// A held lock changes its mode, without having been free.
    #[inline(always)]
    pub(super) fn becomes(&self, flags: Flags) {
        if !is_off() {
            self.told.release();
            self.told.acquire(flags | Flags::TRY);
        }
    }
}

// SAFETY: the lock inside excludes, and reporting does not change it.
unsafe impl<R: RawRwLockDowngrade, const FAIR: bool> RawRwLockDowngrade for Traced<R, FAIR> {
    /// # Safety
    /// The contract is that of `RawRwLockDowngrade::downgrade`.
    #[inline]
    unsafe fn downgrade(&self, guard: R::ExclusiveGuard) -> R::SharedGuard {
        self.becomes(Self::READ);
        // SAFETY: by the trait's contract the caller writes by `guard`, which the lock inside
        // returned.
        unsafe { self.raw.downgrade(guard) }
    }
}

// SAFETY: the lock inside excludes, and reporting does not change it.
unsafe impl<R: RawRwLockTimed, const FAIR: bool> RawRwLockTimed for Traced<R, FAIR> {
    type Duration = R::Duration;
    type Instant = R::Instant;

    fn try_lock_shared_for(&self, timeout: R::Duration) -> Option<R::SharedGuard> {
        if is_off() {
            return self.raw.try_lock_shared_for(timeout);
        }
        self.told_timed(Self::READ, R::try_lock_shared, |raw| raw.try_lock_shared_for(timeout))
    }

    fn try_lock_shared_until(&self, timeout: R::Instant) -> Option<R::SharedGuard> {
        if is_off() {
            return self.raw.try_lock_shared_until(timeout);
        }
        self.told_timed(Self::READ, R::try_lock_shared, |raw| raw.try_lock_shared_until(timeout))
    }

    fn try_lock_exclusive_for(&self, timeout: R::Duration) -> Option<R::ExclusiveGuard> {
        if is_off() {
            return self.raw.try_lock_exclusive_for(timeout);
        }
        self.told_timed(Flags::EXCLUSIVE, R::try_lock_exclusive, |raw| {
            raw.try_lock_exclusive_for(timeout)
        })
    }

    fn try_lock_exclusive_until(&self, timeout: R::Instant) -> Option<R::ExclusiveGuard> {
        if is_off() {
            return self.raw.try_lock_exclusive_until(timeout);
        }
        self.told_timed(Flags::EXCLUSIVE, R::try_lock_exclusive, |raw| {
            raw.try_lock_exclusive_until(timeout)
        })
    }
}
