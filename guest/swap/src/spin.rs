//! Spinlocks, in the C library's 4 bytes.
//!
//! ```text
//!   bit 30 set, bit 31 clear   one of ours: the chosen lock's word (`platform::Marked`)
//!   1, 0 or negative           the C library's: free, held (on 64-bit Arm 0 is free), held while others try
//! ```
//!
//! A spinlock has no place for a kind, and one that is shared with other processes may be used by
//! some that nobody has replaced anything in: so the word itself says whose it is. A spinlock
//! that was not initialised by a call is the C library's.

use core::ffi::c_int;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

use libc::EBUSY;

use crate::counts::{Count, count};
use crate::exclusive::Exclusive;
use crate::platform::MARK;
use crate::{next, os, selection};

/// Whether the lock is one of ours.
///
/// # Safety
/// `s` points to a spinlock.
#[inline(always)]
unsafe fn is_ours(s: *const AtomicU32) -> bool {
    // SAFETY: the caller promises a spinlock. Relaxed: the bits stay as they are while it is a
    // lock.
    unsafe { &*s }.load(Relaxed) & (MARK | 1 << 31) == MARK
}

/// `pthread_spin_lock`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn lock<L: Exclusive>(s: *mut AtomicU32) -> c_int {
    // SAFETY: `s` is the program's own spinlock; the C library's function gets it unchanged if it
    // is not ours.
    unsafe {
        if !is_ours(s) {
            return next::pthread_spin_lock(s.cast());
        }
        L::lock(s);
    }
    0
}

/// Takes the lock by the deadline, in nanoseconds of CLOCK_MONOTONIC. None: it is the C library's.
///
/// # Safety
/// `s` points to a spinlock.
pub unsafe fn lock_until<L: Exclusive>(s: *mut AtomicU32, deadline: u64) -> Option<bool> {
    // SAFETY: the caller promises a spinlock at `s`; `L::lock_until` gets it only if it is ours.
    unsafe { is_ours(s).then(|| L::lock_until(s, deadline)) }
}

/// `pthread_spin_trylock`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn trylock<L: Exclusive>(s: *mut AtomicU32) -> c_int {
    // SAFETY: `s` is the program's own spinlock; the C library's function gets it unchanged if it
    // is not ours.
    unsafe {
        if !is_ours(s) {
            return next::pthread_spin_trylock(s.cast());
        }
        if L::try_lock(s) { 0 } else { EBUSY }
    }
}

/// `pthread_spin_unlock`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn unlock<L: Exclusive>(s: *mut AtomicU32) -> c_int {
    // SAFETY: `s` is the program's own spinlock; the C library's function gets it unchanged if it
    // is not ours.
    unsafe {
        if !is_ours(s) {
            return next::pthread_spin_unlock(s.cast());
        }
        if (*s).load(Relaxed) == MARK {
            // Nobody holds it: a fault of the program's that the C library lets pass, too.
            return 0;
        }
        L::unlock(s);
    }
    0
}

/// `pthread_spin_init`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn init(s: *mut AtomicU32, pshared: c_int, site: usize) -> c_int {
    let obstacle = match pshared {
        libc::PTHREAD_PROCESS_SHARED => Some(Count::SharedSpinlocks),
        _ => {
            let verdict = selection::verdict(s.addr(), site);
            verdict.count();
            (!verdict.is_chosen).then_some(Count::LeftSpinlocks)
        }
    };
    if let Some(why) = obstacle {
        count(why);
        // SAFETY: the next `pthread_spin_init` gets the program's own arguments unchanged, as
        // without us.
        return unsafe { next::pthread_spin_init(s.cast(), pshared) };
    }
    count(Count::Spinlocks);
    // SAFETY: `s` is the memory that the program initialises as a spinlock: one aligned word.
    unsafe { &*s }.store(MARK, Relaxed);
    0
}

/// `pthread_spin_destroy`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn destroy(s: *mut AtomicU32) -> c_int {
    // The C library does not look.
    // SAFETY: `can_read` found memory at the program's own `s`, which the C library gets if it is
    // not ours.
    unsafe {
        if os::can_read(s) && !is_ours(s) {
            return next::pthread_spin_destroy(s.cast());
        }
    }
    0
}
