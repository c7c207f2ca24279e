//! Locks after the Linux kernel's, for user space and for other kernels, and [`annotate`] and
//! [`objects`]: what a program can tell lockwright of its locks, and of objects of its own.
//!
//! Each lock is a file of its field name, over [`platform::Platform`].

#![no_std]

#[cfg(feature = "std")]
extern crate std;

#[cfg(feature = "std")]
pub mod annotate;
pub mod biased_rwlock;
pub mod bkl;
pub mod completion;
pub mod condvar;
pub mod debug;
pub mod debug_rwsem;
pub mod event;
pub mod exclusive;
pub mod hybrid_mutex;
pub mod hybrid_rwlock;
#[cfg(feature = "std")]
pub mod irq;
#[cfg(feature = "std")]
pub mod irqsave;
mod k42;
pub mod local_lock;
pub mod lock_library;
#[cfg(feature = "lock_api")]
pub mod locks;
pub mod mcs;
pub mod mutex;
#[cfg(feature = "std")]
pub mod objects;
pub mod osq;
mod owner;
pub mod percpu_rwsem;
pub mod platform;
pub mod preference_rwlock;
mod pv_halt;
mod pv_hash;
pub mod pvqspinlock;
mod qnode;
pub mod qrwlock;
pub mod qspinlock;
pub mod rtmutex;
pub mod rwsem;
pub mod semaphore;
pub mod seqlock;
mod sleeper;
mod swait;
#[cfg(feature = "lock_api")]
pub mod sync;
pub mod tas;
pub mod ticket;
#[cfg(feature = "lock_api")]
pub mod traced;
mod visible_readers;
mod wait_list;
mod wait_lock;
pub mod ww_mutex;
