//! Locks that are broken on purpose, each in one way.

use std::cell::Cell;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

use lockwright::platform::linux::Linux;
use lockwright::platform::{Platform, Word, await_until};
use lockwright::tas::RawTas;

use super::ops::Ops;

/// No lock at all (the kernel's `lock_busted`).
pub(super) struct Lock;

impl Ops for Lock {
    fn new() -> Self {
        Self
    }
    fn writelock(&self) {}
    /// # Safety
    /// The contract is that of `Ops::writeunlock`.
    unsafe fn writeunlock(&self) {}
}

/// Writers exclude each other, and nobody else.
pub(super) struct Readers(RawTas<Linux>);

impl Ops for Readers {
    fn new() -> Self {
        Self(RawTas::new())
    }
    fn writelock(&self) {
        self.0.lock();
    }
    /// # Safety
    /// The contract is that of `Ops::writeunlock`.
    unsafe fn writeunlock(&self) {
        // SAFETY: by the trait's contract the calling thread took the lock exclusively, and so
        // `self.0`.
        unsafe { self.0.unlock() }
    }
    fn readlock(&self) {}
    fn try_readlock(&self) -> bool {
        true
    }
    fn readlock_until(&self, _deadline: u64) -> bool {
        true
    }
    /// # Safety
    /// The contract is that of `Ops::readunlock`.
    unsafe fn readunlock(&self) {}
}

/// Announces a waiter too late: a thread that is about to sleep when the lock is released is not
/// woken.
pub(super) struct Wake {
    held: AtomicU32,
    waiters: AtomicU32,
}

impl Ops for Wake {
    fn new() -> Self {
        Self { held: AtomicU32::new(0), waiters: AtomicU32::new(0) }
    }
    fn writelock(&self) {
        while self.held.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            // Here the lock may be released.
            std::thread::yield_now();
            let seen = self.waiters.fetch_add(1, Relaxed) + 1;
            self.waiters.wait(seen, None);
        }
    }
    /// # Safety
    /// The contract is that of `Ops::writeunlock`.
    unsafe fn writeunlock(&self) {
        self.held.store(0, Release);
        if self.waiters.load(Relaxed) != 0 {
            self.waiters.store(0, Relaxed);
            AtomicU32::wake(&raw const self.waiters, 1);
        }
    }
}

/// A deadline that comes is taken for the lock.
pub(super) struct Deadline(RawTas<Linux>);

impl Ops for Deadline {
    fn new() -> Self {
        Self(RawTas::new())
    }
    fn writelock(&self) {
        self.0.lock();
    }
    fn writelock_until(&self, deadline: u64) -> bool {
        await_until::<Linux>(|| self.0.try_lock() || Linux::now() > deadline);
        true
    }
    /// # Safety
    /// The contract is that of `Ops::writeunlock`.
    unsafe fn writeunlock(&self) {
        // SAFETY: by contract this thread holds the lock, or the fault is planted: any thread can
        // release a test-and-set lock.
        unsafe { self.0.unlock() }
    }
}

std::thread_local! {
    static TICKET: Cell<u32> = const { Cell::new(0) };
}

/// A ticket lock whose tickets are kept per thread: a handler that takes another such lock leaves
/// its own behind.
pub(super) struct Signal {
    next: AtomicU32,
    served: AtomicU32,
}

impl Ops for Signal {
    fn new() -> Self {
        Self { next: AtomicU32::new(0), served: AtomicU32::new(0) }
    }
    fn writelock(&self) {
        TICKET.set(self.next.fetch_add(1, Relaxed));
        await_until::<Linux>(|| self.served.load(Acquire) == TICKET.get());
    }
    /// # Safety
    /// The contract is that of `Ops::writeunlock`.
    unsafe fn writeunlock(&self) {
        self.served.fetch_add(1, Release);
    }
}

/// Released, and looked at once more.
pub(super) struct Touch {
    lock: RawTas<Linux>,
    releases: AtomicU32,
}

impl Ops for Touch {
    fn new() -> Self {
        Self { lock: RawTas::new(), releases: AtomicU32::new(0) }
    }
    fn writelock(&self) {
        self.lock.lock();
    }
    fn try_writelock(&self) -> bool {
        self.lock.try_lock()
    }
    /// # Safety
    /// The contract is that of `Ops::writeunlock`.
    unsafe fn writeunlock(&self) {
        let before = self.releases.fetch_add(1, Relaxed);
        // SAFETY: by the trait's contract the calling thread took the lock exclusively, and so
        // `self.lock`.
        unsafe { self.lock.unlock() };
        // Every other one is slow, so that the next can overtake it.
        if before % 2 == 1 {
            std::thread::sleep(Duration::from_micros(50));
        }
        self.releases.load(Relaxed);
    }
}
