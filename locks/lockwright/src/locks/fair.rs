//! The fair unlock of `lock_api` for the hybrid locks: the lock goes to a waiter before any
//! newcomer.

use lock_api::GuardNoSend;

use crate::biased_rwlock::RawBiasedRwLock;
use crate::hybrid_mutex::RawHybridMutex;
use crate::hybrid_rwlock::RawHybridRwLock;
use crate::platform::linux::Linux;

// SAFETY: the fair unlock releases what the plain one does, only to a waiter first.
unsafe impl lock_api::RawMutexFair for RawHybridMutex<Linux> {
    /// # Safety
    /// The contract is that of `lock_api::RawMutexFair::unlock_fair`.
    #[inline]
    unsafe fn unlock_fair(&self, _: GuardNoSend) {
        // SAFETY: the caller gives back its acquisition.
        unsafe { self.unlock_fair() };
    }
}

macro_rules! fair_rwlocks {
    ($($raw:ty),*) => { $(
// SAFETY: the fair unlock releases what the plain one does, only to a waiter first.
unsafe impl lock_api::RawRwLockFair for $raw {
    /// As any release of a reader's: a writer that waits for readers keeps new ones out.
    ///
    /// # Safety
    /// The contract is that of `lock_api::RawRwLockFair::unlock_shared_fair`.
    #[inline]
    unsafe fn unlock_shared_fair(&self, _: GuardNoSend) {
        // SAFETY: the caller gives back its acquisition.
        unsafe { self.unlock_shared() };
    }

    /// # Safety
    /// The contract is that of `lock_api::RawRwLockFair::unlock_exclusive_fair`.
    #[inline]
    unsafe fn unlock_exclusive_fair(&self, _: GuardNoSend) {
        // SAFETY: the caller passes the guard of its exclusive acquisition, which this gives back.
        unsafe { self.unlock_exclusive_fair() };
    }
}

// SAFETY: the fair unlock releases what the plain one does, only to a waiter first.
unsafe impl lock_api::RawRwLockUpgradeFair for $raw {
    /// # Safety
    /// The contract is that of `lock_api::RawRwLockUpgradeFair::unlock_upgradable_fair`.
    #[inline]
    unsafe fn unlock_upgradable_fair(&self, _: GuardNoSend) {
        // SAFETY: the caller gives back its acquisition.
        unsafe { self.unlock_upgradable_fair() };
    }
}
    )* };
}

fair_rwlocks!(RawHybridRwLock<Linux>, RawBiasedRwLock<Linux>);
