//! Locks after the Linux kernel's, for user space and for other kernels, and [`annotate`] and
//! [`objects`]: what a program can tell lockwright of its locks, and of objects of its own.
//!
//! Each lock is a file of its field name, over [`platform::Platform`]. Folders group the files: locks that spin, locks
//! whose waiters sleep, and locks with readers.

#![no_std]

#[cfg(feature = "std")]
extern crate std;

#[cfg(feature = "std")]
pub mod annotate;
mod checks;
pub mod event;
pub mod exclusive;
#[cfg(feature = "std")]
pub mod irq;
pub mod lock_library;
#[cfg(feature = "lock_api")]
pub mod locks;
#[cfg(feature = "std")]
pub mod objects;
pub mod platform;
mod readers;
mod sleeping;
mod spinning;
#[cfg(feature = "lock_api")]
pub mod sync;
#[cfg(feature = "lock_api")]
pub mod traced;

pub use self::checks::{debug, debug_rwsem};
use self::readers::visible_readers;
pub use self::readers::{
    biased_rwlock, hybrid_rwlock, percpu_rwsem, preference_rwlock, qrwlock, rwsem, seqlock,
};
pub use self::sleeping::{
    bkl, completion, condvar, hybrid_mutex, mutex, osq, rtmutex, semaphore, ww_mutex,
};
use self::sleeping::{owner, sleeper, swait, wait_list, wait_lock};
#[cfg(feature = "std")]
pub use self::spinning::irqsave;
use self::spinning::{k42, pv_halt, pv_hash, qnode};
pub use self::spinning::{local_lock, mcs, pvqspinlock, qspinlock, tas, ticket};
