//! The C library's locks, each taken and released once by `pair`.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

/// A lock of the C library: in a box, as it must not move.
pub struct Glibc<T>(Box<UnsafeCell<T>>);

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
    /// Locks and unlocks.
    #[inline(always)]
    pub fn pair(&self) {
        // SAFETY: an initialised lock, taken and released here.
        unsafe {
            libc::pthread_mutex_lock(self.0.get());
            libc::pthread_mutex_unlock(self.0.get());
        }
    }
}

impl Glibc<libc::pthread_spinlock_t> {
    /// Locks and unlocks.
    #[inline(always)]
    pub fn pair(&self) {
        // SAFETY: as for the mutex.
        unsafe {
            libc::pthread_spin_lock(self.0.get());
            libc::pthread_spin_unlock(self.0.get());
        }
    }
}

impl Glibc<libc::pthread_rwlock_t> {
    /// Locks for reading and unlocks.
    #[inline(always)]
    pub fn read_pair(&self) {
        // SAFETY: as for the mutex.
        unsafe {
            libc::pthread_rwlock_rdlock(self.0.get());
            libc::pthread_rwlock_unlock(self.0.get());
        }
    }

    /// Locks for writing and unlocks.
    #[inline(always)]
    pub fn write_pair(&self) {
        // SAFETY: as for the mutex.
        unsafe {
            libc::pthread_rwlock_wrlock(self.0.get());
            libc::pthread_rwlock_unlock(self.0.get());
        }
    }
}
