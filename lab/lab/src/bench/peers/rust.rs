//! Locks of Rust: the standard library's, parking_lot's, usync's. They are taken as programs take
//! them, by guards; a guard is what the holder keeps.

use super::table::{Lock, Shared};

/// A lock with guards: how it is made, taken and, if it has readers, taken to read.
macro_rules! guarded {
    ($lock:ty, $guard:ty, |$by:ident| $taken:expr) => {
        impl Lock for $lock {
            type Held = $guard;
            /// # Safety
            /// The contract is that of `Lock::make`.
            unsafe fn make(at: *mut Self) {
                // SAFETY: by the trait's contract `at` is memory for one lock, which stays there
                // until it is dropped.
                unsafe { at.write(Self::new(())) }
            }
            #[inline]
            fn lock(&'static self) -> Self::Held {
                let $by = self;
                $taken
            }
            /// # Safety
            /// The contract is that of `Lock::unlock`.
            #[inline]
            unsafe fn unlock(&'static self, held: Self::Held) {
                drop(held);
            }
        }
    };
    ($lock:ty, $guard:ty, |$by:ident| $taken:expr, $reader:ty, $read:expr) => {
        guarded!($lock, $guard, |$by| $taken);
        impl Shared for $lock {
            type Read = $reader;
            #[inline]
            fn read(&'static self) -> Self::Read {
                let $by = self;
                $read
            }
            /// # Safety
            /// The contract is that of `Shared::read_unlock`.
            #[inline]
            unsafe fn read_unlock(&'static self, held: Self::Read) {
                drop(held);
            }
        }
    };
}

/// Why a lock cannot be poisoned: no holder panics here.
const SOUND: &str = "nobody panics with the lock held";

guarded!(std::sync::Mutex<()>, std::sync::MutexGuard<'static, ()>, |lock| lock
    .lock()
    .expect(SOUND));
guarded!(parking_lot::Mutex<()>, parking_lot::MutexGuard<'static, ()>, |lock| lock.lock());
guarded!(usync::Mutex<()>, usync::MutexGuard<'static, ()>, |lock| lock.lock());
guarded!(lockwright::sync::Mutex<()>, lockwright::sync::MutexGuard<'static, ()>, |lock| lock
    .lock()
    .expect(SOUND));

guarded!(
    std::sync::RwLock<()>,
    std::sync::RwLockWriteGuard<'static, ()>,
    |lock| lock.write().expect(SOUND),
    std::sync::RwLockReadGuard<'static, ()>,
    lock.read().expect(SOUND)
);
guarded!(
    parking_lot::RwLock<()>,
    parking_lot::RwLockWriteGuard<'static, ()>,
    |lock| lock.write(),
    parking_lot::RwLockReadGuard<'static, ()>,
    lock.read()
);
guarded!(
    usync::RwLock<()>,
    usync::RwLockWriteGuard<'static, ()>,
    |lock| lock.write(),
    usync::RwLockReadGuard<'static, ()>,
    lock.read()
);
guarded!(
    lockwright::sync::RwLock<()>,
    lockwright::sync::RwLockWriteGuard<'static, ()>,
    |lock| lock.write().expect(SOUND),
    lockwright::sync::RwLockReadGuard<'static, ()>,
    lock.read().expect(SOUND)
);
