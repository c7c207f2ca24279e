//! Locks of lockwright's that have no guards: taken and released by their own functions.

use lockwright::biased_rwlock::RawBiasedRwLock;
use lockwright::hybrid_mutex::RawHybridMutex;
use lockwright::hybrid_rwlock::RawHybridRwLock;
use lockwright::mutex::RawMutex;
use lockwright::percpu_rwsem::RawPercpuRwSem;
use lockwright::platform::linux::Linux;
use lockwright::pvqspinlock::{Hybrid, RawPvQspinlock};
use lockwright::qrwlock::RawQrwLock;
use lockwright::rtmutex::RawRtMutex;
use lockwright::rwsem::RawRwSem;
use lockwright::semaphore::RawBinary;

use super::table::{Lock, Shared};

/// A lock and the names of its functions; with readers, of theirs too.
macro_rules! raw {
    ($lock:ty, $take:ident, $release:ident) => {
        impl Lock for $lock {
            type Held = ();
            /// # Safety
            /// The contract is that of `Lock::make`.
            unsafe fn make(at: *mut Self) {
                // SAFETY: by the trait's contract `at` is memory for one lock, which stays there
                // until it is dropped.
                unsafe { at.write(Self::new()) }
            }
            #[inline]
            fn lock(&'static self) {
                self.$take();
            }
            /// # Safety
            /// The contract is that of `Lock::unlock`.
            #[inline]
            unsafe fn unlock(&'static self, (): ()) {
                // SAFETY: the caller has taken it.
                unsafe { self.$release() }
            }
        }
    };
    ($lock:ty, $take:ident, $release:ident, $read:ident, $read_release:ident) => {
        raw!($lock, $take, $release);
        impl Shared for $lock {
            type Read = ();
            #[inline]
            fn read(&'static self) {
                self.$read();
            }
            /// # Safety
            /// The contract is that of `Shared::read_unlock`.
            #[inline]
            unsafe fn read_unlock(&'static self, (): ()) {
                // SAFETY: the caller has taken it to read.
                unsafe { self.$read_release() }
            }
        }
    };
}

raw!(RawHybridMutex<Linux>, lock, unlock);
raw!(RawMutex<Linux>, lock, unlock);
raw!(RawPvQspinlock<Linux, Hybrid>, lock, unlock);
raw!(RawRtMutex<Linux>, lock, unlock);
raw!(RawBinary<Linux>, lock, unlock);
raw!(RawHybridRwLock<Linux>, lock_exclusive, unlock_exclusive, lock_shared, unlock_shared);
raw!(RawBiasedRwLock<Linux>, lock_exclusive, unlock_exclusive, lock_shared, unlock_shared);
raw!(RawRwSem<Linux>, down_write, up_write, down_read, up_read);
raw!(RawQrwLock<Linux>, write_lock, write_unlock, read_lock, read_unlock);
raw!(RawPercpuRwSem<Linux>, down_write, up_write, down_read, up_read);
