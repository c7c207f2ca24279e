//! parking_lot's locks, which tell lockwright of themselves. A program is watched without a change
//! of its own lines, or of those of the crates that it depends on, by four in its `Cargo.toml`:
//!
//! ```toml
//! [patch.crates-io]
//! parking_lot = { path = "/path/to/lockwright/locks/parking_lot" }
//! ```
//!
//! The locks are those of parking_lot 0.13 behind the functions of 0.12. They are larger, as each
//! also stores what the tool knows it by. Two things are not reported: what [`Once`] waits for, and
//! the direct use of `parking_lot_core`.

mod condvar;
mod raw_mutex;
mod raw_rwlock;
mod told;

use core::num::NonZeroUsize;

pub use self::condvar::{Condvar, WaitTimeoutResult};
pub use self::raw_mutex::{RawFairMutex, RawMutex};
pub use self::raw_rwlock::RawRwLock;
pub use ::lock_api;
#[cfg(feature = "deadlock_detection")]
pub use real::deadlock;
pub use real::{Once, OnceState};

/// The data that the real locks' guards keep: none.
const fn no_guard() -> real_api::GuardNoSend {
    real_api::GuardNoSend::new()
}

/// Tells threads apart, for [`ReentrantMutex`].
#[derive(Debug)]
pub struct RawThreadId;

// SAFETY: each thread that lives has its own.
unsafe impl lock_api::GetThreadId for RawThreadId {
    const INIT: Self = Self;

    fn nonzero_thread_id(&self) -> NonZeroUsize {
        thread_local!(static HERE: u8 = const { 0 });
        HERE.with(|here| (&raw const *here).addr().try_into().expect("no thread's is at 0"))
    }
}

/// A value that one thread at a time can have.
pub type Mutex<T> = lock_api::Mutex<RawMutex, T>;
/// Has a [`Mutex`] locked as long as it lives.
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, RawMutex, T>;
/// As [`MutexGuard`], of a part of the value.
pub type MappedMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, RawMutex, T>;

/// As [`Mutex`], which threads get in turn.
pub type FairMutex<T> = lock_api::Mutex<RawFairMutex, T>;
/// Has a [`FairMutex`] locked as long as it lives.
pub type FairMutexGuard<'a, T> = lock_api::MutexGuard<'a, RawFairMutex, T>;
/// As [`FairMutexGuard`], of a part of the value.
pub type MappedFairMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, RawFairMutex, T>;

/// As [`Mutex`], which its holder can lock again.
pub type ReentrantMutex<T> = lock_api::ReentrantMutex<RawMutex, RawThreadId, T>;
/// Has a [`ReentrantMutex`] locked as long as it lives.
pub type ReentrantMutexGuard<'a, T> = lock_api::ReentrantMutexGuard<'a, RawMutex, RawThreadId, T>;
/// As [`ReentrantMutexGuard`], of a part of the value.
pub type MappedReentrantMutexGuard<'a, T> =
    lock_api::MappedReentrantMutexGuard<'a, RawMutex, RawThreadId, T>;

/// A value that many threads can read, or one can write.
pub type RwLock<T> = lock_api::RwLock<RawRwLock, T>;
/// Has a [`RwLock`] locked to be read as long as it lives.
pub type RwLockReadGuard<'a, T> = lock_api::RwLockReadGuard<'a, RawRwLock, T>;
/// Has a [`RwLock`] locked to be written as long as it lives.
pub type RwLockWriteGuard<'a, T> = lock_api::RwLockWriteGuard<'a, RawRwLock, T>;
/// As [`RwLockReadGuard`]; it can become a writer.
pub type RwLockUpgradableReadGuard<'a, T> = lock_api::RwLockUpgradableReadGuard<'a, RawRwLock, T>;
/// As [`RwLockReadGuard`], of a part of the value.
pub type MappedRwLockReadGuard<'a, T> = lock_api::MappedRwLockReadGuard<'a, RawRwLock, T>;
/// As [`RwLockWriteGuard`], of a part of the value.
pub type MappedRwLockWriteGuard<'a, T> = lock_api::MappedRwLockWriteGuard<'a, RawRwLock, T>;

#[cfg(feature = "arc_lock")]
pub use self::lock_api::{
    ArcMutexGuard, ArcReentrantMutexGuard, ArcRwLockReadGuard, ArcRwLockUpgradableReadGuard,
    ArcRwLockWriteGuard,
};

#[cfg(feature = "send_guard")]
type GuardMarker = lock_api::GuardSend;
#[cfg(not(feature = "send_guard"))]
type GuardMarker = lock_api::GuardNoSend;

/// A [`Mutex`] in a constant.
pub const fn const_mutex<T>(value: T) -> Mutex<T> {
    Mutex::const_new(<RawMutex as lock_api::RawMutex>::INIT, value)
}

/// A [`FairMutex`] in a constant.
pub const fn const_fair_mutex<T>(value: T) -> FairMutex<T> {
    FairMutex::const_new(<RawFairMutex as lock_api::RawMutex>::INIT, value)
}

/// A [`ReentrantMutex`] in a constant.
pub const fn const_reentrant_mutex<T>(value: T) -> ReentrantMutex<T> {
    ReentrantMutex::const_new(
        <RawMutex as lock_api::RawMutex>::INIT,
        <RawThreadId as lock_api::GetThreadId>::INIT,
        value,
    )
}

/// A [`RwLock`] in a constant.
pub const fn const_rwlock<T>(value: T) -> RwLock<T> {
    RwLock::const_new(<RawRwLock as lock_api::RawRwLock>::INIT, value)
}
