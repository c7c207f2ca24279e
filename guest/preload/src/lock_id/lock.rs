//! The operations of the wrappers on a lock, whatever its type: so that each engine has one way
//! of acquiring.

use core::ffi::c_int;

use libc::{pthread_mutex_t, pthread_rwlock_t};
use lockwright_glibc::table::{mutex, rwlock};
use lockwright_ledger::rows::mode;

use super::by_address::SpinLock;
use super::identity::{Identify, kind_of, mutex_kind};
use crate::libc::real;

/// A lock of the C library's.
pub trait Lock: Identify + Sized {
    /// Its waiters spin.
    const SPINS: bool = false;
    /// An owner that locks it again gets an error.
    const REFUSES_OWNER: bool = false;

    /// Trying for some is not just locking them without waiting.
    const CAN_BE_SPECIAL: bool = false;

    /// Takes the lock if that needs no wait. `mode` has [`mode::READ`] if it is to be read.
    ///
    /// # Safety
    /// The caller's lock.
    unsafe fn try_lock(this: *mut Self, mode: u16) -> c_int;

    /// Where its memory names its owner, by kernel thread id, 0 for nobody; null if it does not.
    fn owner(_this: *mut Self) -> *const u32 {
        core::ptr::null()
    }

    /// Its owner may take it again.
    ///
    /// # Safety
    /// The caller's lock.
    unsafe fn recurs(_this: *mut Self) -> bool {
        false
    }

    /// Trying for it is not just locking it without waiting.
    ///
    /// # Safety
    /// The caller's lock.
    unsafe fn is_special(_this: *mut Self) -> bool {
        false
    }
}

impl Lock for pthread_mutex_t {
    const CAN_BE_SPECIAL: bool = true;

    #[inline(always)]
    unsafe fn try_lock(this: *mut Self, _mode: u16) -> c_int {
        // SAFETY: the caller promises that `this` is a live lock of its type, as
        // `pthread_mutex_trylock` asks.
        unsafe { real::pthread_mutex_trylock(this) }
    }

    fn owner(this: *mut Self) -> *const u32 {
        this.cast::<u32>().wrapping_byte_add(const { mutex::OWNER.always() })
    }

    #[inline(always)]
    unsafe fn recurs(this: *mut Self) -> bool {
        // SAFETY: the caller promises that `this` is a live lock of its type, as `kind_of` asks.
        unsafe { kind_of(this) & mutex_kind::TYPE == mutex_kind::RECURSIVE }
    }

    /// Robust, PI, PP.
    #[inline(always)]
    unsafe fn is_special(this: *mut Self) -> bool {
        // SAFETY: the caller promises that `this` is a live lock of its type, as `kind_of` asks.
        unsafe { kind_of(this) & mutex_kind::SPECIAL != 0 }
    }
}

impl Lock for pthread_rwlock_t {
    // glibc answers EDEADLK to a writer that locks again; a reader that wants to write just hangs.
    const REFUSES_OWNER: bool = true;

    #[inline(always)]
    unsafe fn try_lock(this: *mut Self, mode: u16) -> c_int {
        // SAFETY: the caller promises that `this` is a live lock of its type, as
        // `pthread_rwlock_trywrlock` asks.
        unsafe {
            match mode & mode::READ {
                0 => real::pthread_rwlock_trywrlock(this),
                _ => real::pthread_rwlock_tryrdlock(this),
            }
        }
    }

    fn owner(this: *mut Self) -> *const u32 {
        // 0 if readers hold it.
        this.cast::<u32>().wrapping_byte_add(const { rwlock::CUR_WRITER.always() })
    }
}

impl Lock for SpinLock {
    const SPINS: bool = true;

    #[inline(always)]
    unsafe fn try_lock(this: *mut Self, _mode: u16) -> c_int {
        // SAFETY: the caller promises a live spinlock, and `SpinLock` is the same memory as the C
        // library's.
        unsafe { real::pthread_spin_trylock(this.cast()) }
    }
}
