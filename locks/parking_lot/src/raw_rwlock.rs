//! The reader-writer lock: the real one, with what the tool knows it by. An upgradable reader is
//! reported as a reader, which it is to writers. The tool does not know that two of them exclude
//! each other.
//!
//! In version 0.13 a lock either lets all its readers read again or none. This one lets them: its
//! readers go ahead of waiting writers, and no program may rely on 0.12 doing otherwise. We report
//! its readers as what they are in 0.12.

use core::time::Duration;
use std::time::Instant;

use lockwright::annotate::Flags;
use real_api::{
    RawRwLock as _, RawRwLockDowngrade as _, RawRwLockFair as _, RawRwLockTimed as _,
    RawRwLockUpgrade as _, RawRwLockUpgradeDowngrade as _, RawRwLockUpgradeFair as _,
    RawRwLockUpgradeTimed as _,
};

use crate::told::Told;
use crate::{GuardMarker, no_guard};

/// The lock of a [`RwLock`](crate::RwLock).
pub struct RawRwLock {
    told: Told,
    real: real::RawRwLockRecursive,
}

/// A reader waits behind a writer that waits.
const READ: Flags = Flags::FAIR_READ;
const UPGRADABLE: Flags = Flags::FAIR_UPGRADABLE_READ;
const WRITE: Flags = Flags::EXCLUSIVE;

impl RawRwLock {
    /// Waits for the other readers by `upgrade`, which may give up: the reader goes on as that then.
    fn upgrades(&self, upgrade: impl FnOnce() -> bool) -> bool {
        self.told.releases();
        let had = self.told.takes(WRITE | Flags::TIMED, || false, upgrade);
        if !had {
            self.told.tried(UPGRADABLE, true);
        }
        had
    }
}

// SAFETY: the lock inside excludes, and reporting does not change it.
unsafe impl lock_api::RawRwLock for RawRwLock {
    #[allow(clippy::declare_interior_mutable_const, reason = "as the trait has it")]
    const INIT: Self =
        Self { told: Told::new(), real: <real::RawRwLockRecursive as real_api::RawRwLock>::INIT };
    type GuardMarker = GuardMarker;

    #[inline]
    fn lock_shared(&self) {
        self.told.takes(
            READ,
            || self.real.try_lock_shared().is_some(),
            || {
                self.real.lock_shared();
                true
            },
        );
    }

    #[inline]
    fn try_lock_shared(&self) -> bool {
        self.told.tried(READ, self.real.try_lock_shared().is_some())
    }

    /// # Safety
    /// The contract is that of `lock_api::RawRwLock::unlock_shared`.
    #[inline]
    unsafe fn unlock_shared(&self) {
        self.told.releases();
        // SAFETY: by the trait's contract this thread reads, and so holds the real lock; its guard
        // holds no data.
        unsafe { self.real.unlock_shared(no_guard()) };
    }

    #[inline]
    fn lock_exclusive(&self) {
        self.told.takes(
            WRITE,
            || self.real.try_lock_exclusive().is_some(),
            || {
                self.real.lock_exclusive();
                true
            },
        );
    }

    #[inline]
    fn try_lock_exclusive(&self) -> bool {
        self.told.tried(WRITE, self.real.try_lock_exclusive().is_some())
    }

    /// # Safety
    /// The contract is that of `lock_api::RawRwLock::unlock_exclusive`.
    #[inline]
    unsafe fn unlock_exclusive(&self) {
        self.told.releases();
        // SAFETY: by the trait's contract this thread writes, and so holds the real lock; its guard
        // holds no data.
        unsafe { self.real.unlock_exclusive(no_guard()) };
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.real.is_locked()
    }

    #[inline]
    fn is_locked_exclusive(&self) -> bool {
        self.real.is_locked_exclusive()
    }
}

// SAFETY: the lock inside excludes, and reporting does not change it.
unsafe impl lock_api::RawRwLockFair for RawRwLock {
    /// # Safety
    /// The contract is that of `lock_api::RawRwLockFair::unlock_shared_fair`.
    #[inline]
    unsafe fn unlock_shared_fair(&self) {
        self.told.releases();
        // SAFETY: by the trait's contract this thread reads, and so holds the real lock; its guard
        // holds no data.
        unsafe { self.real.unlock_shared_fair(no_guard()) };
    }

    /// # Safety
    /// The contract is that of `lock_api::RawRwLockFair::unlock_exclusive_fair`.
    #[inline]
    unsafe fn unlock_exclusive_fair(&self) {
        self.told.releases();
        // SAFETY: by the trait's contract this thread writes, and so holds the real lock; its guard
        // holds no data.
        unsafe { self.real.unlock_exclusive_fair(no_guard()) };
    }

    /// # Safety
    /// The contract is that of `lock_api::RawRwLockFair::bump_shared`.
    #[inline]
    unsafe fn bump_shared(&self) {
        // SAFETY: by the trait's contract this thread reads, and so holds the real lock; its guard
        // holds no data.
        unsafe { self.real.bump_shared(&mut no_guard()) };
    }

    /// # Safety
    /// The contract is that of `lock_api::RawRwLockFair::bump_exclusive`.
    #[inline]
    unsafe fn bump_exclusive(&self) {
        // SAFETY: by the trait's contract this thread writes, and so holds the real lock; its guard
        // holds no data.
        unsafe { self.real.bump_exclusive(&mut no_guard()) };
    }
}

// SAFETY: the lock inside excludes, and reporting does not change it.
unsafe impl lock_api::RawRwLockDowngrade for RawRwLock {
    /// # Safety
    /// The contract is that of `lock_api::RawRwLockDowngrade::downgrade`.
    #[inline]
    unsafe fn downgrade(&self) {
        self.told.becomes(READ);
        // SAFETY: by the trait's contract this thread writes, and so holds the real lock; its guard
        // holds no data.
        unsafe { self.real.downgrade(no_guard()) };
    }
}

// SAFETY: the lock inside excludes, and reporting does not change it.
unsafe impl lock_api::RawRwLockTimed for RawRwLock {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_shared_for(&self, timeout: Duration) -> bool {
        let take = || self.real.try_lock_shared_for(timeout).is_some();
        self.told.takes(READ | Flags::TIMED, || self.real.try_lock_shared().is_some(), take)
    }

    fn try_lock_shared_until(&self, timeout: Instant) -> bool {
        let take = || self.real.try_lock_shared_until(timeout).is_some();
        self.told.takes(READ | Flags::TIMED, || self.real.try_lock_shared().is_some(), take)
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> bool {
        let take = || self.real.try_lock_exclusive_for(timeout).is_some();
        self.told.takes(WRITE | Flags::TIMED, || self.real.try_lock_exclusive().is_some(), take)
    }

    fn try_lock_exclusive_until(&self, timeout: Instant) -> bool {
        let take = || self.real.try_lock_exclusive_until(timeout).is_some();
        self.told.takes(WRITE | Flags::TIMED, || self.real.try_lock_exclusive().is_some(), take)
    }
}

// SAFETY: the lock inside excludes, and reporting does not change it. Such a reader goes ahead of
// writers that wait.
unsafe impl lock_api::RawRwLockRecursive for RawRwLock {
    #[inline]
    fn lock_shared_recursive(&self) {
        self.told.takes(
            Flags::READ,
            || self.real.try_lock_shared().is_some(),
            || {
                self.real.lock_shared();
                true
            },
        );
    }

    #[inline]
    fn try_lock_shared_recursive(&self) -> bool {
        self.told.tried(Flags::READ, self.real.try_lock_shared().is_some())
    }
}

// SAFETY: the lock inside excludes, and reporting does not change it.
unsafe impl lock_api::RawRwLockRecursiveTimed for RawRwLock {
    fn try_lock_shared_recursive_for(&self, timeout: Duration) -> bool {
        let take = || self.real.try_lock_shared_for(timeout).is_some();
        let tries = || self.real.try_lock_shared().is_some();
        self.told.takes(Flags::READ | Flags::TIMED, tries, take)
    }

    fn try_lock_shared_recursive_until(&self, timeout: Instant) -> bool {
        let take = || self.real.try_lock_shared_until(timeout).is_some();
        let tries = || self.real.try_lock_shared().is_some();
        self.told.takes(Flags::READ | Flags::TIMED, tries, take)
    }
}

// SAFETY: the lock inside excludes, and reporting does not change it.
unsafe impl lock_api::RawRwLockUpgrade for RawRwLock {
    #[inline]
    fn lock_upgradable(&self) {
        self.told.takes(
            UPGRADABLE,
            || self.real.try_lock_upgradable().is_some(),
            || {
                self.real.lock_upgradable();
                true
            },
        );
    }

    #[inline]
    fn try_lock_upgradable(&self) -> bool {
        self.told.tried(UPGRADABLE, self.real.try_lock_upgradable().is_some())
    }

    /// # Safety
    /// The contract is that of `lock_api::RawRwLockUpgrade::unlock_upgradable`.
    #[inline]
    unsafe fn unlock_upgradable(&self) {
        self.told.releases();
        // SAFETY: by the trait's contract this thread reads upgradably, and so holds the real lock
        // so; its guard holds no data.
        unsafe { self.real.unlock_upgradable(no_guard()) };
    }

    /// # Safety
    /// The contract is that of `lock_api::RawRwLockUpgrade::upgrade`.
    unsafe fn upgrade(&self) {
        self.told.releases();
        self.told.takes(
            WRITE,
            || false,
            || {
                // SAFETY: by the trait's contract this thread reads upgradably, and so holds the
                // real lock so; its guard holds no data.
                unsafe { self.real.upgrade(no_guard()) };
                true
            },
        );
    }

    /// # Safety
    /// The contract is that of `lock_api::RawRwLockUpgrade::try_upgrade`.
    unsafe fn try_upgrade(&self) -> bool {
        // SAFETY: by the trait's contract this thread reads upgradably, and so holds the real lock
        // so; its guard holds no data.
        let had = unsafe { self.real.try_upgrade(no_guard()).is_ok() };
        if had {
            self.told.becomes(WRITE);
        }
        had
    }
}

// SAFETY: the lock inside excludes, and reporting does not change it.
unsafe impl lock_api::RawRwLockUpgradeFair for RawRwLock {
    /// # Safety
    /// The contract is that of `lock_api::RawRwLockUpgradeFair::unlock_upgradable_fair`.
    #[inline]
    unsafe fn unlock_upgradable_fair(&self) {
        self.told.releases();
        // SAFETY: by the trait's contract this thread reads upgradably, and so holds the real lock
        // so; its guard holds no data.
        unsafe { self.real.unlock_upgradable_fair(no_guard()) };
    }

    /// # Safety
    /// The contract is that of `lock_api::RawRwLockUpgradeFair::bump_upgradable`.
    #[inline]
    unsafe fn bump_upgradable(&self) {
        // SAFETY: by the trait's contract this thread reads upgradably, and so holds the real lock
        // so; its guard holds no data.
        unsafe { self.real.bump_upgradable(&mut no_guard()) };
    }
}

// SAFETY: the lock inside excludes, and reporting does not change it.
unsafe impl lock_api::RawRwLockUpgradeDowngrade for RawRwLock {
    /// # Safety
    /// The contract is that of `lock_api::RawRwLockUpgradeDowngrade::downgrade_upgradable`.
    #[inline]
    unsafe fn downgrade_upgradable(&self) {
        self.told.becomes(READ);
        // SAFETY: by the trait's contract this thread reads upgradably, and so holds the real lock
        // so; its guard holds no data.
        unsafe { self.real.downgrade_upgradable(no_guard()) };
    }

    /// # Safety
    /// The contract is that of `lock_api::RawRwLockUpgradeDowngrade::downgrade_to_upgradable`.
    #[inline]
    unsafe fn downgrade_to_upgradable(&self) {
        self.told.becomes(UPGRADABLE);
        // SAFETY: by the trait's contract this thread writes, and so holds the real lock; its guard
        // holds no data.
        unsafe { self.real.downgrade_to_upgradable(no_guard()) };
    }
}

// SAFETY: the lock inside excludes, and reporting does not change it.
unsafe impl lock_api::RawRwLockUpgradeTimed for RawRwLock {
    fn try_lock_upgradable_for(&self, timeout: Duration) -> bool {
        let take = || self.real.try_lock_upgradable_for(timeout).is_some();
        self.told.takes(UPGRADABLE | Flags::TIMED, || self.real.try_lock_upgradable().is_some(), take)
    }

    fn try_lock_upgradable_until(&self, timeout: Instant) -> bool {
        let take = || self.real.try_lock_upgradable_until(timeout).is_some();
        self.told.takes(UPGRADABLE | Flags::TIMED, || self.real.try_lock_upgradable().is_some(), take)
    }

    /// # Safety
    /// The contract is that of `lock_api::RawRwLockUpgradeTimed::try_upgrade_for`.
    unsafe fn try_upgrade_for(&self, timeout: Duration) -> bool {
        // SAFETY: by the trait's contract this thread reads upgradably, and so holds the real lock
        // so; its guard holds no data.
        self.upgrades(|| unsafe { self.real.try_upgrade_for(no_guard(), timeout).is_ok() })
    }

    /// # Safety
    /// The contract is that of `lock_api::RawRwLockUpgradeTimed::try_upgrade_until`.
    unsafe fn try_upgrade_until(&self, timeout: Instant) -> bool {
        // SAFETY: by the trait's contract this thread reads upgradably, and so holds the real lock
        // so; its guard holds no data.
        self.upgrades(|| unsafe { self.real.try_upgrade_until(no_guard(), timeout).is_ok() })
    }
}
