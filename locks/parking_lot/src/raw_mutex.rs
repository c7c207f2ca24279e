//! The mutexes: the real ones, each with what the tool knows it by.

use core::time::Duration;
use std::time::Instant;

use lockwright::annotate::Flags;
use real_api::{RawMutex as _, RawMutexFair as _, RawMutexTimed as _};

use crate::told::Told;
use crate::{GuardMarker, no_guard};

/// `RawName(real lock, what locks have theirs)`.
macro_rules! mutex {
    ($($(#[$doc:meta])* $name:ident($real:ty);)*) => { $(
        $(#[$doc])*
        pub struct $name {
            pub(crate) told: Told,
            pub(crate) real: $real,
        }

        // SAFETY: the lock inside excludes, and reporting does not change it.
        unsafe impl lock_api::RawMutex for $name {
            #[allow(clippy::declare_interior_mutable_const, reason = "as the trait has it")]
            const INIT: Self = Self { told: Told::new(), real: <$real as real_api::RawMutex>::INIT };
            type GuardMarker = GuardMarker;

            #[inline]
            fn lock(&self) {
                self.told.takes(Flags::EXCLUSIVE, || self.real.try_lock().is_some(), || {
                    self.real.lock();
                    true
                });
            }

            #[inline]
            fn try_lock(&self) -> bool {
                self.told.tried(Flags::EXCLUSIVE, self.real.try_lock().is_some())
            }

            /// # Safety
            /// The contract is that of `lock_api::RawMutex::unlock`.
            #[inline]
            unsafe fn unlock(&self) {
                self.told.releases();
                // SAFETY: by the trait's contract this thread holds the mutex, and so the real one;
                // its guard holds no data.
                unsafe { self.real.unlock(no_guard()) };
            }

            #[inline]
            fn is_locked(&self) -> bool {
                self.real.is_locked()
            }
        }

        // SAFETY: the lock inside excludes, and reporting does not change it.
        unsafe impl lock_api::RawMutexFair for $name {
            /// # Safety
            /// The contract is that of `lock_api::RawMutexFair::unlock_fair`.
            #[inline]
            unsafe fn unlock_fair(&self) {
                self.told.releases();
                // SAFETY: by the trait's contract this thread holds the mutex, and so the real one;
                // its guard holds no data.
                unsafe { self.real.unlock_fair(no_guard()) };
            }

            // The lock is released for another thread's turn and taken again: that says nothing
            // about its order.
            /// # Safety
            /// The contract is that of `lock_api::RawMutexFair::bump`.
            #[inline]
            unsafe fn bump(&self) {
                // SAFETY: by the trait's contract this thread holds the mutex, and so the real one;
                // its guard holds no data.
                unsafe { self.real.bump(&mut no_guard()) };
            }
        }

        // SAFETY: the lock inside excludes, and reporting does not change it.
        unsafe impl lock_api::RawMutexTimed for $name {
            type Duration = Duration;
            type Instant = Instant;

            fn try_lock_for(&self, timeout: Duration) -> bool {
                let take = || self.real.try_lock_for(timeout).is_some();
                self.told.takes(Flags::EXCLUSIVE | Flags::TIMED, || self.real.try_lock().is_some(), take)
            }

            fn try_lock_until(&self, timeout: Instant) -> bool {
                let take = || self.real.try_lock_until(timeout).is_some();
                self.told.takes(Flags::EXCLUSIVE | Flags::TIMED, || self.real.try_lock().is_some(), take)
            }
        }
    )* };
}

mutex! {
    /// The lock of a [`Mutex`](crate::Mutex).
    RawMutex(real::RawMutex);
    /// The lock of a [`FairMutex`](crate::FairMutex).
    RawFairMutex(real::RawFairMutex);
}
