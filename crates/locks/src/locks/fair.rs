//! The fair unlock of `lock_api` for the hybrid locks: the lock goes to a waiter before any
//! newcomer.

use lock_api::GuardNoSend;

use crate::biased_rwlock::RawBiasedRwLock;
use crate::hybrid_mutex::RawHybridMutex;
use crate::hybrid_rwlock::RawHybridRwLock;
use crate::platform::linux::Linux;

// SAFETY: as for the other releases.
unsafe impl lock_api::RawMutexFair for RawHybridMutex<Linux> {
    #[inline]
    unsafe fn unlock_fair(&self, _: GuardNoSend) {
        // SAFETY: the caller gives back its acquisition.
        unsafe { self.unlock_fair() };
    }
}

macro_rules! fair_rwlocks {
    ($($raw:ty),*) => { $(
// SAFETY: as for the other releases.
unsafe impl lock_api::RawRwLockFair for $raw {
    /// As any release of a reader's: a writer that waits for readers keeps new ones out.
    #[inline]
    unsafe fn unlock_shared_fair(&self, _: GuardNoSend) {
        // SAFETY: the caller gives back its acquisition.
        unsafe { self.unlock_shared() };
    }

    #[inline]
    unsafe fn unlock_exclusive_fair(&self, _: GuardNoSend) {
        // SAFETY: as above.
        unsafe { self.unlock_exclusive_fair() };
    }
}

// SAFETY: as above.
unsafe impl lock_api::RawRwLockUpgradeFair for $raw {
    #[inline]
    unsafe fn unlock_upgradable_fair(&self, _: GuardNoSend) {
        // SAFETY: the caller gives back its acquisition.
        unsafe { self.unlock_upgradable_fair() };
    }
}
    )* };
}

fair_rwlocks!(RawHybridRwLock<Linux>, RawBiasedRwLock<Linux>);
