//! The C library's locks, each taken and released around a section.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

/// A lock of the C library: in a box, as it must not move.
pub struct Glibc<T>(Box<UnsafeCell<T>>);

// SAFETY: the C library's locks are for threads to share.
unsafe impl<T> Sync for Glibc<T> {}

impl<T> Glibc<T> {
    /// Made by the C library.
    fn made(init: impl FnOnce(*mut T) -> libc::c_int) -> Self {
        // SAFETY: these are plain structures of integers and pointers.
        let lock = Box::new(UnsafeCell::new(unsafe { MaybeUninit::<T>::zeroed().assume_init() }));
        assert_eq!(init(lock.get()), 0, "the C library makes a lock");
        Self(lock)
    }
}

/// A normal mutex.
pub fn mutex() -> Glibc<libc::pthread_mutex_t> {
    // SAFETY: a place for the mutex.
    Glibc::made(|lock| unsafe { libc::pthread_mutex_init(lock, std::ptr::null()) })
}

/// A spinlock.
pub fn spinlock() -> Glibc<libc::pthread_spinlock_t> {
    // SAFETY: a place for the spinlock.
    Glibc::made(|lock| unsafe { libc::pthread_spin_init(lock, libc::PTHREAD_PROCESS_PRIVATE) })
}

/// A reader-writer lock.
pub fn rwlock() -> Glibc<libc::pthread_rwlock_t> {
    // SAFETY: a place for the lock.
    Glibc::made(|lock| unsafe { libc::pthread_rwlock_init(lock, std::ptr::null()) })
}

impl Glibc<libc::pthread_mutex_t> {
    /// Runs a section under the lock.
    #[inline(always)]
    pub fn locked(&self, section: impl FnOnce()) {
        // SAFETY: an initialised lock, taken and released here.
        unsafe { libc::pthread_mutex_lock(self.0.get()) };
        section();
        // SAFETY: `pthread_mutex_lock` above took the mutex for this thread.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
    }
}

impl Glibc<libc::pthread_spinlock_t> {
    /// Runs a section under the lock.
    #[inline(always)]
    pub fn locked(&self, section: impl FnOnce()) {
        // SAFETY: the C library initialised this spinlock, and this function takes and releases it.
        unsafe { libc::pthread_spin_lock(self.0.get()) };
        section();
        // SAFETY: `pthread_spin_lock` above took the spinlock for this thread.
        unsafe { libc::pthread_spin_unlock(self.0.get()) };
    }
}

impl Glibc<libc::pthread_rwlock_t> {
    /// Runs a section under the lock, taken for reading.
    #[inline(always)]
    pub fn read(&self, section: impl FnOnce()) {
        // SAFETY: the C library initialised this lock, and this function takes and releases it.
        unsafe { libc::pthread_rwlock_rdlock(self.0.get()) };
        section();
        // SAFETY: `pthread_rwlock_rdlock` above took the lock for this thread.
        unsafe { libc::pthread_rwlock_unlock(self.0.get()) };
    }

    /// Runs a section under the lock, taken for writing.
    #[inline(always)]
    pub fn written(&self, section: impl FnOnce()) {
        // SAFETY: the C library initialised this lock, and this function takes and releases it.
        unsafe { libc::pthread_rwlock_wrlock(self.0.get()) };
        section();
        // SAFETY: `pthread_rwlock_wrlock` above took the lock for this thread.
        unsafe { libc::pthread_rwlock_unlock(self.0.get()) };
    }
}
