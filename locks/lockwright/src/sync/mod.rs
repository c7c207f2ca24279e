//! The locks of `std::sync`, in the same shape, as locks of this crate that tell the tool of
//! themselves: a program changes over by its `use` lines.
//!
//! ```
//! use lockwright::sync::{Arc, Condvar, Mutex};
//!
//! let ready = Arc::new((Mutex::new(false), Condvar::new()));
//! let other = Arc::clone(&ready);
//! let thread = std::thread::spawn(move || {
//!     *other.0.lock().unwrap() = true;
//!     other.1.notify_one();
//! });
//! drop(ready.1.wait_while(ready.0.lock().unwrap(), |ready| !*ready).unwrap());
//! thread.join().unwrap();
//! ```
//!
//! A [`Mutex`] is a hybrid mutex ([`crate::hybrid_mutex`]), a [`RwLock`] a hybrid reader-writer lock
//! that readers have lines of their own in while nobody writes ([`crate::biased_rwlock`]). The
//! kernel's own, and locks that are not poisoned, are in [`crate::locks`].
//! It uses the types of `std` where it can: errors and results are those of `std::sync`, and so are
//! types without locks.
//!
//! Other than in `std`: what is poisoned, and when, is the same; results of waits
//! ([`WaitTimeoutResult`], [`BarrierWaitResult`], [`OnceState`]) are types of their own.

mod barrier;
mod condvar;
mod lazy_lock;
mod mapped;
mod mutex;
mod once;
mod once_lock;
mod poison;
mod poisoning;
mod reentrant_lock;
mod rwlock;

pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use lazy_lock::LazyLock;
pub use mapped::{MappedMutexGuard, MappedRwLockReadGuard, MappedRwLockWriteGuard};
pub use mutex::{Mutex, MutexGuard};
pub use once::{Once, OnceState};
pub use once_lock::OnceLock;
pub use reentrant_lock::{ReentrantLock, ReentrantLockGuard};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};

pub use std::sync::{
    Arc, LockResult, PoisonError, TryLockError, TryLockResult, Weak, atomic, mpsc,
};

use crate::platform::linux::Linux;
use crate::traced::{Traced, TracedFair};

/// The raw lock of a [`Mutex`].
pub(crate) type RawMutex = Traced<crate::hybrid_mutex::RawHybridMutex<Linux>>;
/// The raw lock of a [`RwLock`].
pub(crate) type RawRwLock = TracedFair<crate::biased_rwlock::RawBiasedRwLock<Linux>>;
