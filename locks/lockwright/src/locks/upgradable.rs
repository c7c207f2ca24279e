//! The traits of `lock_api` for reader-writer locks with upgradable readers: the hybrid one and the biased one.

use core::time::Duration;
use std::time::Instant;

use lock_api::GuardNoSend;

use super::deadline;
use crate::biased_rwlock::RawBiasedRwLock;
use crate::hybrid_rwlock::RawHybridRwLock;
use crate::platform::linux::Linux;

/// Has a [`HybridRwLock`](super::HybridRwLock) locked to read, and perhaps to write later, as long
/// as it lives.
pub type HybridRwLockUpgradableReadGuard<'a, T> =
    lock_api::RwLockUpgradableReadGuard<'a, RawHybridRwLock<Linux>, T>;

/// Has a [`BiasedRwLock`](super::BiasedRwLock) locked to read, and perhaps to write later, as long
/// as it lives.
pub type BiasedRwLockUpgradableReadGuard<'a, T> =
    lock_api::RwLockUpgradableReadGuard<'a, RawBiasedRwLock<Linux>, T>;

macro_rules! upgradable {
    ($($raw:ty),*) => { $(
// SAFETY: no writer and no other upgradable reader is inside with one, and nobody is with a writer.
unsafe impl lock_api::RawRwLockUpgrade for $raw {
    type UpgradableGuard = GuardNoSend;

    #[inline]
    fn lock_upgradable(&self) -> GuardNoSend {
        self.lock_upgradable();
        GuardNoSend::new()
    }

    #[inline]
    fn try_lock_upgradable(&self) -> Option<GuardNoSend> {
        self.try_lock_upgradable().then(GuardNoSend::new)
    }

    /// # Safety
    /// The contract is that of `lock_api::RawRwLockUpgrade::unlock_upgradable`.
    #[inline]
    unsafe fn unlock_upgradable(&self, _: GuardNoSend) {
        // SAFETY: the caller gives back its acquisition.
        unsafe { self.unlock_upgradable() };
    }

    /// # Safety
    /// The contract is that of `lock_api::RawRwLockUpgrade::upgrade`.
    #[inline]
    unsafe fn upgrade(&self, guard: GuardNoSend) -> GuardNoSend {
        // SAFETY: the caller passes the guard of its upgradable acquisition, which becomes the
        // exclusive one.
        unsafe { self.upgrade() };
        guard
    }

    /// # Safety
    /// The contract is that of `lock_api::RawRwLockUpgrade::try_upgrade`.
    #[inline]
    unsafe fn try_upgrade(&self, guard: GuardNoSend) -> Result<GuardNoSend, GuardNoSend> {
        // SAFETY: the caller passes the guard of its upgradable acquisition, and gets it back if
        // this fails.
        if unsafe { self.try_upgrade() } { Ok(guard) } else { Err(guard) }
    }
}

// SAFETY: the lock excludes; nobody writes in between.
unsafe impl lock_api::RawRwLockUpgradeDowngrade for $raw {
    /// # Safety
    /// The contract is that of `lock_api::RawRwLockUpgradeDowngrade::downgrade_upgradable`.
    #[inline]
    unsafe fn downgrade_upgradable(&self, guard: GuardNoSend) -> GuardNoSend {
        // SAFETY: the caller gives back its acquisition.
        unsafe { self.downgrade_upgradable() };
        guard
    }

    /// # Safety
    /// The contract is that of `lock_api::RawRwLockUpgradeDowngrade::downgrade_to_upgradable`.
    #[inline]
    unsafe fn downgrade_to_upgradable(&self, guard: GuardNoSend) -> GuardNoSend {
        // SAFETY: the caller passes the guard of its exclusive acquisition, which becomes the
        // upgradable one.
        unsafe { self.downgrade_to_upgradable() };
        guard
    }
}

// SAFETY: the lock excludes, as for its other acquisitions; an attempt fails once the deadline has
// come.
unsafe impl lock_api::RawRwLockUpgradeTimed for $raw {
    fn try_lock_upgradable_for(&self, timeout: Duration) -> Option<GuardNoSend> {
        self.lock_upgradable_until(deadline(timeout)).then(GuardNoSend::new)
    }

    fn try_lock_upgradable_until(&self, timeout: Instant) -> Option<GuardNoSend> {
        self.try_lock_upgradable_for(timeout.saturating_duration_since(Instant::now()))
    }

    /// # Safety
    /// The contract is that of `lock_api::RawRwLockUpgradeTimed::try_upgrade_for`.
    unsafe fn try_upgrade_for(
        &self,
        guard: GuardNoSend,
        timeout: Duration,
    ) -> Result<GuardNoSend, GuardNoSend> {
        // SAFETY: the caller gives its acquisition.
        if unsafe { self.upgrade_until(deadline(timeout)) } { Ok(guard) } else { Err(guard) }
    }

    /// # Safety
    /// The contract is that of `lock_api::RawRwLockUpgradeTimed::try_upgrade_until`.
    unsafe fn try_upgrade_until(
        &self,
        guard: GuardNoSend,
        timeout: Instant,
    ) -> Result<GuardNoSend, GuardNoSend> {
        let left = timeout.saturating_duration_since(Instant::now());
        // SAFETY: the caller passes the guard of its upgradable acquisition, as `try_upgrade_for`
        // demands.
        unsafe { self.try_upgrade_for(guard, left) }
    }
}
    )* };
}

upgradable!(RawHybridRwLock<Linux>, RawBiasedRwLock<Linux>);
