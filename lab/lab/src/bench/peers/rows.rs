//! The locks that are in this process whatever else is: those of Rust, the C library's and ours.

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

use super::pthread::{self, ADAPTIVE, NORMAL, READERS, WRITERS};
use super::table::{Functions, Peer, exclusive, shared, spinning};

/// The first of two names of one lock. What the two differ by is noise.
pub const CONTROL: [&str; 2] = ["glibc normal", "glibc normal again"];

/// The first of two names of one reader-writer lock.
pub const RW_CONTROL: [&str; 2] = ["glibc rwlock", "glibc rwlock again"];

const fn other(name: &'static str, functions: Functions) -> Peer {
    Peer { name, is_ours: false, functions }
}

const fn ours(name: &'static str, functions: Functions) -> Peer {
    Peer { name, is_ours: true, functions }
}

/// Locks that one thread holds at a time.
pub const MUTEXES: &[Peer] = &[
    other(CONTROL[0], exclusive::<pthread::Mutex<NORMAL>>()),
    other(CONTROL[1], exclusive::<pthread::Mutex<NORMAL>>()),
    other("glibc adaptive", exclusive::<pthread::Mutex<ADAPTIVE>>()),
    other("std", exclusive::<std::sync::Mutex<()>>()),
    other("parking_lot", exclusive::<parking_lot::Mutex<()>>()),
    other("usync", exclusive::<usync::Mutex<()>>()),
    ours("hybrid_mutex", exclusive::<RawHybridMutex<Linux>>()),
    ours("mutex", exclusive::<RawMutex<Linux>>()),
    ours("pvqspinlock", exclusive::<RawPvQspinlock<Linux, Hybrid>>()),
    ours("rwsem, write", exclusive::<RawRwSem<Linux>>()),
    ours("rtmutex", exclusive::<RawRtMutex<Linux>>()),
    ours("semaphore", exclusive::<RawBinary<Linux>>()),
    ours("sync::Mutex", exclusive::<lockwright::sync::Mutex<()>>()),
];

/// Locks that have readers.
pub const RWLOCKS: &[Peer] = &[
    other(RW_CONTROL[0], shared::<pthread::RwLock<READERS>>()),
    other(RW_CONTROL[1], shared::<pthread::RwLock<READERS>>()),
    other("glibc rwlock, writers", shared::<pthread::RwLock<WRITERS>>()),
    other("std RwLock", shared::<std::sync::RwLock<()>>()),
    other("parking_lot RwLock", shared::<parking_lot::RwLock<()>>()),
    other("usync RwLock", shared::<usync::RwLock<()>>()),
    ours("hybrid_rwlock", shared::<RawHybridRwLock<Linux>>()),
    ours("biased_rwlock", shared::<RawBiasedRwLock<Linux>>()),
    ours("rwsem", shared::<RawRwSem<Linux>>()),
    ours("qrwlock", spinning(shared::<RawQrwLock<Linux>>())),
    ours("percpu_rwsem", shared::<RawPercpuRwSem<Linux>>()),
    ours("sync::RwLock", shared::<lockwright::sync::RwLock<()>>()),
];
