//! The C library's locks, of each type that excludes the same.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use super::table::{Lock, Shared};

/// A mutex of type `TYPE`.
pub struct Mutex<const TYPE: libc::c_int>(UnsafeCell<libc::pthread_mutex_t>);

/// As `pthread_mutex_init` makes it without attributes.
pub const NORMAL: libc::c_int = libc::PTHREAD_MUTEX_NORMAL;
/// Spins for a while before it sleeps.
pub const ADAPTIVE: libc::c_int = libc::PTHREAD_MUTEX_ADAPTIVE_NP;

/// A reader-writer lock of kind `KIND`.
pub struct RwLock<const KIND: libc::c_int>(UnsafeCell<libc::pthread_rwlock_t>);

/// PTHREAD_RWLOCK_PREFER_READER_NP of <pthread.h>: the default.
pub const READERS: libc::c_int = 0;
/// PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP: a writer that waits keeps readers out.
pub const WRITERS: libc::c_int = 2;

/// Checks the result of a function that fails only if it is misused.
fn done(result: libc::c_int) {
    assert_eq!(result, 0, "the C library's lock");
}

impl<const TYPE: libc::c_int> Lock for Mutex<TYPE> {
    type Held = ();

    /// # Safety
    /// The contract is that of `Lock::make`.
    unsafe fn make(at: *mut Self) {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: a place for the attributes.
        done(unsafe { libc::pthread_mutexattr_init(attributes.as_mut_ptr()) });
        // SAFETY: `pthread_mutexattr_init` above initialised the attributes.
        done(unsafe { libc::pthread_mutexattr_settype(attributes.as_mut_ptr(), TYPE) });
        // SAFETY: the caller gives a place for the mutex.
        done(unsafe { libc::pthread_mutex_init(at.cast(), attributes.as_ptr()) });
        // SAFETY: `pthread_mutexattr_init` above initialised the attributes.
        done(unsafe { libc::pthread_mutexattr_destroy(attributes.as_mut_ptr()) });
    }

    #[inline]
    fn lock(&'static self) {
        // SAFETY: `make` initialised this mutex, which stays where it is.
        unsafe { libc::pthread_mutex_lock(self.0.get()) };
    }

    /// # Safety
    /// The contract is that of `Lock::unlock`.
    #[inline]
    unsafe fn unlock(&'static self, (): ()) {
        // SAFETY: the caller has taken it.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
    }
}

impl<const TYPE: libc::c_int> Drop for Mutex<TYPE> {
    fn drop(&mut self) {
        // SAFETY: nobody holds the mutex when it is dropped, and `make` initialised it.
        done(unsafe { libc::pthread_mutex_destroy(self.0.get()) });
    }
}

impl<const KIND: libc::c_int> Lock for RwLock<KIND> {
    type Held = ();

    /// # Safety
    /// The contract is that of `Lock::make`.
    unsafe fn make(at: *mut Self) {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: a place for the attributes.
        done(unsafe { libc::pthread_rwlockattr_init(attributes.as_mut_ptr()) });
        // SAFETY: `pthread_rwlockattr_init` above initialised the attributes.
        done(unsafe { libc::pthread_rwlockattr_setkind_np(attributes.as_mut_ptr(), KIND) });
        // SAFETY: the caller gives a place for the lock.
        done(unsafe { libc::pthread_rwlock_init(at.cast(), attributes.as_ptr()) });
        // SAFETY: `pthread_rwlockattr_init` above initialised the attributes.
        done(unsafe { libc::pthread_rwlockattr_destroy(attributes.as_mut_ptr()) });
    }

    #[inline]
    fn lock(&'static self) {
        // SAFETY: `make` initialised this lock, which stays where it is.
        unsafe { libc::pthread_rwlock_wrlock(self.0.get()) };
    }

    /// # Safety
    /// The contract is that of `Lock::unlock`.
    #[inline]
    unsafe fn unlock(&'static self, (): ()) {
        // SAFETY: the caller has taken it.
        unsafe { libc::pthread_rwlock_unlock(self.0.get()) };
    }
}

impl<const KIND: libc::c_int> Shared for RwLock<KIND> {
    type Read = ();

    #[inline]
    fn read(&'static self) {
        // SAFETY: `make` initialised this lock, which stays where it is.
        unsafe { libc::pthread_rwlock_rdlock(self.0.get()) };
    }

    /// # Safety
    /// The contract is that of `Shared::read_unlock`.
    #[inline]
    unsafe fn read_unlock(&'static self, (): ()) {
        // SAFETY: the caller has taken it to read.
        unsafe { libc::pthread_rwlock_unlock(self.0.get()) };
    }
}

impl<const KIND: libc::c_int> Drop for RwLock<KIND> {
    fn drop(&mut self) {
        // SAFETY: nobody holds the lock when it is dropped, and `make` initialised it.
        done(unsafe { libc::pthread_rwlock_destroy(self.0.get()) });
    }
}
