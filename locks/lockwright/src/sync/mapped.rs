//! Guards of a part of what a lock guards, as `std::sync` is about to have them.

use core::fmt;
use core::ops::{Deref, DerefMut};

use super::poison::Held;
use super::poisoning::guard;
use super::{MutexGuard, RawMutex, RawRwLock, RwLockReadGuard, RwLockWriteGuard};

/// As [`std::sync::MappedMutexGuard`](https://doc.rust-lang.org/std/sync/struct.MappedMutexGuard.html).
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MappedMutexGuard<'a, T: ?Sized> {
    // Before `inner`: dropped in this order.
    held: Held<'a>,
    inner: lock_api::MappedMutexGuard<'a, RawMutex, T>,
}

/// As [`std::sync::MappedRwLockReadGuard`](https://doc.rust-lang.org/std/sync/struct.MappedRwLockReadGuard.html).
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct MappedRwLockReadGuard<'a, T: ?Sized> {
    inner: lock_api::MappedRwLockReadGuard<'a, RawRwLock, T>,
}

/// As [`std::sync::MappedRwLockWriteGuard`](https://doc.rust-lang.org/std/sync/struct.MappedRwLockWriteGuard.html).
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct MappedRwLockWriteGuard<'a, T: ?Sized> {
    // Before `inner`: dropped in this order.
    held: Held<'a>,
    inner: lock_api::MappedRwLockWriteGuard<'a, RawRwLock, T>,
}

guard!(writes MappedMutexGuard);
guard!(reads MappedRwLockReadGuard);
guard!(writes MappedRwLockWriteGuard);

/// `map` and `filter_map` of a guard of the lock `$lock` that writes. The part is found before the
/// guard is taken apart: if that panics, the lock is poisoned before it is released.
macro_rules! maps_to_write {
    ($($guard:ident => $mapped:ident, $lock:literal $guard_it:literal;)*) => { $(
        impl<'a, T: ?Sized> $guard<'a, T> {
            /// A guard of the part that `f` finds.
            ///
            /// ```
            /// # use lockwright::sync::*;
            ///
            #[doc = concat!("let pair = ", $lock, "::new((1, 2));")]
            #[doc = concat!("let guard = ", $guard_it, ";")]
            #[doc = concat!("*", stringify!($guard), "::map(guard, |pair| &mut pair.1) = 3;")]
            /// assert_eq!(pair.into_inner().unwrap(), (1, 3));
            /// ```
            pub fn map<U: ?Sized>(
                mut orig: Self,
                f: impl FnOnce(&mut T) -> &mut U,
            ) -> $mapped<'a, U> {
                let part: *mut U = f(&mut *orig);
                let (held, inner) = orig.into_parts();
                // SAFETY: found in what is mapped, which has not been touched since.
                let inner = lock_api::$guard::map(inner, |_| unsafe { &mut *part });
                $mapped { held, inner }
            }

            /// A guard of the part that `f` finds.
            ///
            /// # Errors
            /// It finds none: the guard.
            pub fn filter_map<U: ?Sized>(
                mut orig: Self,
                f: impl FnOnce(&mut T) -> Option<&mut U>,
            ) -> Result<$mapped<'a, U>, Self> {
                let Some(part) = f(&mut *orig).map(core::ptr::from_mut) else {
                    return Err(orig);
                };
                let (held, inner) = orig.into_parts();
                // SAFETY: found in what is mapped, which has not been touched since.
                let inner = lock_api::$guard::map(inner, |_| unsafe { &mut *part });
                Ok($mapped { held, inner })
            }
        }
    )* };
}

/// Guards that are made of two parts.
macro_rules! parts {
    ($($guard:ident<$raw:ident>;)*) => { $(
        impl<'a, T: ?Sized> $guard<'a, T> {
            fn into_parts(self) -> (Held<'a>, lock_api::$guard<'a, $raw, T>) {
                let Self { held, inner } = self;
                (held, inner)
            }
        }
    )* };
}

parts! {
    MappedMutexGuard<RawMutex>;
    RwLockWriteGuard<RawRwLock>;
    MappedRwLockWriteGuard<RawRwLock>;
}

maps_to_write! {
    MutexGuard => MappedMutexGuard, "Mutex" "pair.lock().unwrap()";
    MappedMutexGuard => MappedMutexGuard, "Mutex" "MutexGuard::map(pair.lock().unwrap(), |pair| pair)";
    RwLockWriteGuard => MappedRwLockWriteGuard, "RwLock" "pair.write().unwrap()";
    MappedRwLockWriteGuard => MappedRwLockWriteGuard, "RwLock"
        "RwLockWriteGuard::map(pair.write().unwrap(), |pair| pair)";
}

/// The same of guards that read, which poison nothing.
macro_rules! maps_to_read {
    ($($guard:ident => $mapped:ident;)*) => { $(
        impl<'a, T: ?Sized> $guard<'a, T> {
            /// A guard of the part that `f` finds.
            ///
            /// ```
            /// use lockwright::sync::{RwLock, RwLockReadGuard};
            ///
            /// let pair = RwLock::new((1, 2));
            /// let second = RwLockReadGuard::map(pair.read().unwrap(), |pair| &pair.1);
            /// assert_eq!(*second, 2);
            /// ```
            pub fn map<U: ?Sized>(
                orig: Self,
                f: impl FnOnce(&T) -> &U,
            ) -> $mapped<'a, U> {
                $mapped { inner: lock_api::$guard::map(orig.inner, f) }
            }

            /// A guard of the part that `f` finds.
            ///
            /// # Errors
            /// It finds none: the guard.
            pub fn filter_map<U: ?Sized>(
                orig: Self,
                f: impl FnOnce(&T) -> Option<&U>,
            ) -> Result<$mapped<'a, U>, Self> {
                match lock_api::$guard::try_map(orig.inner, f) {
                    Ok(inner) => Ok($mapped { inner }),
                    Err(inner) => Err(Self { inner }),
                }
            }
        }
    )* };
}

maps_to_read! {
    RwLockReadGuard => MappedRwLockReadGuard;
    MappedRwLockReadGuard => MappedRwLockReadGuard;
}
