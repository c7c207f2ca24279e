//! The operations on a lock under torture.

use lockwright::biased_rwlock::RawBiasedRwLock;
use lockwright::bkl::RawBkl;
use lockwright::exclusive::Exclusive;
use lockwright::hybrid_mutex::RawHybridMutex;
use lockwright::hybrid_rwlock::RawHybridRwLock;
use lockwright::mcs::RawMcs;
use lockwright::mutex::{Compact, RawMutex};
use lockwright::percpu_rwsem::RawPercpuRwSem;
use lockwright::platform::linux::Linux;
use lockwright::pvqspinlock::{Hybrid, RawPvQspinlock, SingleSteal, Unfair};
use lockwright::qrwlock::RawQrwLock;
use lockwright::qspinlock::RawQspinlock;
use lockwright::rtmutex::RawRtMutex;
use lockwright::rwsem::RawRwSem;
use lockwright::semaphore::RawSemaphore;
use lockwright::seqlock::RawSeqLock;
use lockwright::tas::RawTas;
use lockwright::ticket::RawTicket;
use lockwright::ww_mutex::RawWwMutex;

/// A lock under torture (the kernel's `lock_torture_ops`). Without readers, reads are writes; what
/// it cannot do, it does by plain locking.
pub trait Ops: Send + Sync {
    /// A free lock.
    fn new() -> Self
    where
        Self: Sized;

    /// Takes it exclusively.
    fn writelock(&self);

    /// Takes it exclusively if that needs no waiting.
    fn try_writelock(&self) -> bool {
        self.writelock();
        true
    }

    /// Takes it exclusively, or gives up when `deadline` (nanoseconds of CLOCK_MONOTONIC) has come.
    fn writelock_until(&self, deadline: u64) -> bool {
        let _ = deadline;
        self.writelock();
        true
    }

    /// Releases what was taken exclusively.
    ///
    /// # Safety
    /// The calling thread holds it so.
    unsafe fn writeunlock(&self);

    /// Turns the exclusive hold into a shared one. False: it cannot.
    ///
    /// # Safety
    /// The calling thread holds it exclusively.
    unsafe fn downgrade(&self) -> bool {
        false
    }

    /// Takes it shared.
    fn readlock(&self) {
        self.writelock();
    }

    /// Takes it shared if that needs no waiting.
    fn try_readlock(&self) -> bool {
        self.try_writelock()
    }

    /// Takes it shared, or gives up when `deadline` has come.
    fn readlock_until(&self, deadline: u64) -> bool {
        self.writelock_until(deadline)
    }

    /// Releases what was taken shared.
    ///
    /// # Safety
    /// The calling thread holds it so.
    unsafe fn readunlock(&self) {
        // SAFETY: by contract this thread holds the lock, exclusively where it has no readers.
        unsafe { self.writeunlock() }
    }
}

/// The operations of locks that have no more to them than the names of their methods: of writers;
/// of readers, where they are others; and by a deadline, where the lock knows any.
macro_rules! ops {
    ($($lock:ty { $($row:tt)* })*) => {$(
        impl Ops for $lock {
            fn new() -> Self {
                Self::new_in()
            }
            ops!(@rows $($row)*);
        }
    )*};
    (@rows write: $write:ident $try_write:ident $unlock:ident; $($rest:tt)*) => {
        fn writelock(&self) {
            self.$write();
        }
        fn try_writelock(&self) -> bool {
            self.$try_write()
        }
        /// # Safety
        /// The contract is that of `Ops::writeunlock`.
        unsafe fn writeunlock(&self) {
            // SAFETY: by the trait's contract the calling thread holds the lock exclusively.
            unsafe { self.$unlock() }
        }
        ops!(@rows $($rest)*);
    };
    (@rows write until: $write_until:ident; $($rest:tt)*) => {
        fn writelock_until(&self, deadline: u64) -> bool {
            self.$write_until(Some(deadline))
        }
        ops!(@rows $($rest)*);
    };
    (@rows read: $read:ident $try_read:ident $unlock:ident; $($rest:tt)*) => {
        fn readlock(&self) {
            self.$read();
        }
        fn try_readlock(&self) -> bool {
            self.$try_read()
        }
        /// # Safety
        /// The contract is that of `Ops::readunlock`.
        unsafe fn readunlock(&self) {
            // SAFETY: by the trait's contract the calling thread holds the lock shared.
            unsafe { self.$unlock() }
        }
        ops!(@rows $($rest)*);
    };
    (@rows read until: $read_until:ident; $($rest:tt)*) => {
        fn readlock_until(&self, deadline: u64) -> bool {
            self.$read_until(Some(deadline))
        }
        ops!(@rows $($rest)*);
    };
    (@rows read until: never $read:ident; $($rest:tt)*) => {
        fn readlock_until(&self, _deadline: u64) -> bool {
            self.$read();
            true
        }
        ops!(@rows $($rest)*);
    };
    (@rows downgrade: $downgrade:ident; $($rest:tt)*) => {
        /// # Safety
        /// The contract is that of `Ops::downgrade`.
        unsafe fn downgrade(&self) -> bool {
            // SAFETY: by the trait's contract the calling thread holds the lock exclusively.
            unsafe { self.$downgrade() };
            true
        }
        ops!(@rows $($rest)*);
    };
    (@rows) => {};
}

ops! {
    RawTas<Linux> { write: lock try_lock unlock; }
    RawTicket<Linux> { write: lock try_lock unlock; }
    RawMcs<Linux> { write: lock try_lock unlock; }
    RawQspinlock<Linux> { write: lock try_lock unlock; }
    RawPvQspinlock<Linux, Hybrid> { write: lock try_lock unlock; }
    RawPvQspinlock<Linux, SingleSteal> { write: lock try_lock unlock; }
    RawPvQspinlock<Linux, Unfair> { write: lock try_lock unlock; }
    RawMutex<Linux> {
        write: lock try_lock unlock;
        write until: lock_until;
    }
    RawMutex<Linux, Compact<Linux>> {
        write: lock try_lock unlock;
        write until: lock_until;
    }
    RawHybridMutex<Linux> {
        write: lock try_lock unlock;
        write until: lock_until;
    }
    RawHybridRwLock<Linux> {
        write: lock_exclusive try_lock_exclusive unlock_exclusive;
        write until: lock_exclusive_until;
        downgrade: downgrade;
        read: lock_shared try_lock_shared unlock_shared;
        read until: lock_shared_until;
    }
    RawBiasedRwLock<Linux> {
        write: lock_exclusive try_lock_exclusive unlock_exclusive;
        write until: lock_exclusive_until;
        downgrade: downgrade;
        read: lock_shared try_lock_shared unlock_shared;
        read until: lock_shared_until;
    }
    RawQrwLock<Linux> {
        write: write_lock try_write_lock write_unlock;
        read: read_lock try_read_lock read_unlock;
        read until: never read_lock;
    }
    // Its writers, and the readers that exclude them; those that look again are its own tests'
    // business.
    RawSeqLock<Linux> { write: write_lock try_write_lock write_unlock; }
    RawPercpuRwSem<Linux> {
        write: down_write try_down_write up_write;
        read: down_read try_down_read up_read;
        read until: never down_read;
    }
    RawRwSem<Linux> {
        write: down_write try_down_write up_write;
        write until: down_write_until;
        downgrade: downgrade_write;
        read: down_read try_down_read up_read;
        read until: down_read_until;
    }
}

/// Without a context, as a mutex; what contexts are for is its own tests' business.
impl Ops for RawWwMutex<Linux> {
    fn new() -> Self {
        Self::new_in()
    }
    fn writelock(&self) {
        // SAFETY: there is no context, so nothing has to outlive the lock.
        unsafe { self.lock(None) }.expect("only contexts are refused");
    }
    fn try_writelock(&self) -> bool {
        // SAFETY: there is no context, so nothing has to outlive the lock.
        unsafe { self.try_lock(None) }
    }
    fn writelock_until(&self, deadline: u64) -> bool {
        // SAFETY: there is no context, so nothing has to outlive the lock.
        unsafe { self.lock_until(None, Some(deadline)) }.is_ok()
    }
    /// # Safety
    /// The contract is that of `Ops::writeunlock`.
    unsafe fn writeunlock(&self) {
        // SAFETY: by the trait's contract the calling thread holds the lock exclusively.
        unsafe { self.unlock() }
    }
}

impl Ops for RawRtMutex<Linux> {
    fn new() -> Self {
        Self::new_in()
    }
    fn writelock(&self) {
        self.lock();
    }
    fn try_writelock(&self) -> bool {
        self.try_lock()
    }
    fn writelock_until(&self, deadline: u64) -> bool {
        self.lock_until(Some(deadline)).is_ok()
    }
    /// # Safety
    /// The contract is that of `Ops::writeunlock`.
    unsafe fn writeunlock(&self) {
        // SAFETY: by the trait's contract the calling thread holds the lock exclusively.
        unsafe { self.unlock() }
    }
}

impl Ops for RawSemaphore<Linux> {
    fn new() -> Self {
        Self::new(1)
    }
    fn writelock(&self) {
        self.down();
    }
    fn try_writelock(&self) -> bool {
        self.try_down()
    }
    fn writelock_until(&self, deadline: u64) -> bool {
        self.down_until(Some(deadline))
    }
    /// # Safety
    /// The contract is that of `Ops::writeunlock`.
    unsafe fn writeunlock(&self) {
        self.up();
    }
}

impl<L: Exclusive> Ops for RawBkl<Linux, L> {
    fn new() -> Self {
        Self::new_in()
    }
    fn writelock(&self) {
        self.lock();
        self.lock();
        self.schedule(|| ());
    }
    fn try_writelock(&self) -> bool {
        self.try_lock() && self.try_lock()
    }
    /// # Safety
    /// The contract is that of `Ops::writeunlock`.
    unsafe fn writeunlock(&self) {
        // SAFETY: by contract this thread holds the lock, which both ways of taking it took twice.
        unsafe {
            self.unlock();
            self.unlock();
        }
    }
}
