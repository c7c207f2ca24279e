//! Traced upgradable readers.

use lock_api::{
    RawRwLockUpgrade, RawRwLockUpgradeDowngrade, RawRwLockUpgradeFair, RawRwLockUpgradeTimed,
};

use super::Traced;
use crate::annotate::{Flags, is_off};

// SAFETY: the lock inside excludes, and reporting does not change it.
unsafe impl<R: RawRwLockUpgrade, const FAIR: bool> RawRwLockUpgrade for Traced<R, FAIR> {
    type UpgradableGuard = R::UpgradableGuard;

    #[inline]
    fn lock_upgradable(&self) -> R::UpgradableGuard {
        if is_off() {
            return self.raw.lock_upgradable();
        }
        self.told_surely(Self::UPGRADABLE, R::try_lock_upgradable, R::lock_upgradable)
    }

    #[inline]
    fn try_lock_upgradable(&self) -> Option<R::UpgradableGuard> {
        let taken = self.raw.try_lock_upgradable();
        if is_off() { taken } else { self.told_try(Self::UPGRADABLE, taken) }
    }

    /// # Safety
    /// The contract is that of `RawRwLockUpgrade::unlock_upgradable`.
    #[inline]
    unsafe fn unlock_upgradable(&self, guard: R::UpgradableGuard) {
        self.releases();
        // SAFETY: by the trait's contract the caller reads upgradably by `guard`, which the lock
        // inside returned.
        unsafe { self.raw.unlock_upgradable(guard) };
    }

    /// # Safety
    /// The contract is that of `RawRwLockUpgrade::upgrade`.
    unsafe fn upgrade(&self, guard: R::UpgradableGuard) -> R::ExclusiveGuard {
        // SAFETY: by the trait's contract the caller reads upgradably by `guard`, which the lock
        // inside returned.
        let upgrade = |raw: &R| unsafe { raw.upgrade(guard) };
        if is_off() {
            return upgrade(&self.raw);
        }
        // It waits for the other readers.
        self.told.release();
        self.told_surely(Flags::EXCLUSIVE, |_| None, upgrade)
    }

    /// # Safety
    /// The contract is that of `RawRwLockUpgrade::try_upgrade`.
    unsafe fn try_upgrade(
        &self,
        guard: R::UpgradableGuard,
    ) -> Result<R::ExclusiveGuard, R::UpgradableGuard> {
        // SAFETY: by the trait's contract the caller reads upgradably by `guard`, which the lock
        // inside returned.
        let result = unsafe { self.raw.try_upgrade(guard) };
        if result.is_ok() {
            self.becomes(Flags::EXCLUSIVE);
        }
        result
    }
}

// SAFETY: the lock inside excludes, and reporting does not change it.
unsafe impl<R: RawRwLockUpgradeDowngrade, const FAIR: bool> RawRwLockUpgradeDowngrade
    for Traced<R, FAIR>
{
    /// # Safety
    /// The contract is that of `RawRwLockUpgradeDowngrade::downgrade_upgradable`.
    #[inline]
    unsafe fn downgrade_upgradable(&self, guard: R::UpgradableGuard) -> R::SharedGuard {
        self.becomes(Self::READ);
        // SAFETY: by the trait's contract the caller reads upgradably by `guard`, which the lock
        // inside returned.
        unsafe { self.raw.downgrade_upgradable(guard) }
    }

    /// # Safety
    /// The contract is that of `RawRwLockUpgradeDowngrade::downgrade_to_upgradable`.
    #[inline]
    unsafe fn downgrade_to_upgradable(&self, guard: R::ExclusiveGuard) -> R::UpgradableGuard {
        self.becomes(Self::UPGRADABLE);
        // SAFETY: by the trait's contract the caller writes by `guard`, which the lock inside
        // returned.
        unsafe { self.raw.downgrade_to_upgradable(guard) }
    }
}

// SAFETY: the lock inside excludes, and reporting does not change it.
unsafe impl<R: RawRwLockUpgradeFair, const FAIR: bool> RawRwLockUpgradeFair for Traced<R, FAIR> {
    /// # Safety
    /// The contract is that of `RawRwLockUpgradeFair::unlock_upgradable_fair`.
    #[inline]
    unsafe fn unlock_upgradable_fair(&self, guard: R::UpgradableGuard) {
        self.releases();
        // SAFETY: by the trait's contract the caller reads upgradably by `guard`, which the lock
        // inside returned.
        unsafe { self.raw.unlock_upgradable_fair(guard) };
    }
}

// SAFETY: the lock inside excludes, and reporting does not change it.
unsafe impl<R: RawRwLockUpgradeTimed, const FAIR: bool> RawRwLockUpgradeTimed for Traced<R, FAIR> {
    fn try_lock_upgradable_for(&self, timeout: R::Duration) -> Option<R::UpgradableGuard> {
        if is_off() {
            return self.raw.try_lock_upgradable_for(timeout);
        }
        let wait = |raw: &R| raw.try_lock_upgradable_for(timeout);
        self.told_timed(Self::UPGRADABLE, R::try_lock_upgradable, wait)
    }

    fn try_lock_upgradable_until(&self, timeout: R::Instant) -> Option<R::UpgradableGuard> {
        if is_off() {
            return self.raw.try_lock_upgradable_until(timeout);
        }
        let wait = |raw: &R| raw.try_lock_upgradable_until(timeout);
        self.told_timed(Self::UPGRADABLE, R::try_lock_upgradable, wait)
    }

    /// # Safety
    /// The contract is that of `RawRwLockUpgradeTimed::try_upgrade_for`.
    unsafe fn try_upgrade_for(
        &self,
        guard: R::UpgradableGuard,
        timeout: R::Duration,
    ) -> Result<R::ExclusiveGuard, R::UpgradableGuard> {
        // SAFETY: by the trait's contract the caller reads upgradably by `guard`, which the lock
        // inside returned.
        self.upgraded(|raw| unsafe { raw.try_upgrade_for(guard, timeout) })
    }

    /// # Safety
    /// The contract is that of `RawRwLockUpgradeTimed::try_upgrade_until`.
    unsafe fn try_upgrade_until(
        &self,
        guard: R::UpgradableGuard,
        timeout: R::Instant,
    ) -> Result<R::ExclusiveGuard, R::UpgradableGuard> {
        // SAFETY: by the trait's contract the caller reads upgradably by `guard`, which the lock
        // inside returned.
        self.upgraded(|raw| unsafe { raw.try_upgrade_until(guard, timeout) })
    }
}

impl<R, const FAIR: bool> Traced<R, FAIR> {
    /// The flags that the tool gets for an upgradable reader.
    const UPGRADABLE: Flags =
        if FAIR { Flags::FAIR_UPGRADABLE_READ } else { Flags::UPGRADABLE_READ };

    /// Waits for other readers by `upgrade`, which may give up: the reader goes on as that then.
    fn upgraded<W, U>(&self, upgrade: impl FnOnce(&R) -> Result<W, U>) -> Result<W, U> {
        if is_off() {
            return upgrade(&self.raw);
        }
        self.told.release();
        let result = self.told(Flags::EXCLUSIVE | Flags::TIMED, |_| None, upgrade);
        if result.is_err() {
            self.told.acquire(Self::UPGRADABLE | Flags::TRY);
        }
        result
    }
}
