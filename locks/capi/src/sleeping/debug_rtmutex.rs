//! The mutex with priority inheritance and the kernel's checks (`DEBUG_RT_MUTEXES`).

use core::ffi::c_int;

use libc::timespec;
use locks::annotate::Flags;
use locks::debug::RawDebug;
use locks::platform::linux::Linux;
use locks::rtmutex::{Error, RawRtMutex};

use crate::debug;
use crate::holds::holds;
use crate::result::deadline;

/// A mutex with priority inheritance that knows whether it is one: its functions refuse what is a
/// misuse of it, and tell which. Zeros are no lock.
#[repr(C)]
pub struct lw_debug_rtmutex_t {
    /// The lock's own.
    pub opaque: [usize; 7],
}

holds!(lw_debug_rtmutex_t: RawDebug<Linux, RawRtMutex<Linux>>);

/// Makes a free lock of any memory: always needed, as zeros are none. Returns 0.
///
/// - The caller must do this before any other thread uses the memory, and never for a lock in
///   use: its waiters would be lost.
///
/// # Safety
/// Memory for a lock, which nobody uses as one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_rtmutex_init(lock: *mut lw_debug_rtmutex_t) -> c_int {
    // SAFETY: `lock` points to memory for an lw_debug_rtmutex_t that nobody uses as one, as locks.h
    // requires.
    unsafe { debug::init(lock) }
}

/// Ends the life of a lock. Returns 0, EBUSY if somebody holds it, EINVAL if it is none.
///
/// - A lock that was destroyed must not be used, except by init: each call returns EINVAL.
///
/// # Safety
/// Memory of a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_rtmutex_destroy(lock: *mut lw_debug_rtmutex_t) -> c_int {
    // SAFETY: `lock` points to memory of an lw_debug_rtmutex_t that the caller keeps alive, as
    // locks.h requires.
    unsafe { debug::destroy(lock) }
}

/// Waits for the lock and takes it. Returns 0; EDEADLK if this thread holds it, or that were to
/// wait for oneself, along a chain of owners that wait for each other's locks; EINVAL if it is none.
///
/// - The caller must not go on as if it had the lock after an error.
/// - The caller must not hold a spinning lock: this call may sleep.
/// - A signal handler must not call this: it may have interrupted a holder or a waiter.
///
/// # Safety
/// Memory of a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_rtmutex_lock(lock: *mut lw_debug_rtmutex_t) -> c_int {
    // SAFETY: `lock` points to memory of an lw_debug_rtmutex_t that the caller keeps alive, as
    // locks.h requires.
    unsafe { take(lock, Flags::EXCLUSIVE, None) }
}

/// Takes the lock, or gives up at a time of CLOCK_MONOTONIC; null: never. Returns 0; ETIMEDOUT, if
/// that has come; EDEADLK as `lw_debug_rtmutex_lock`; EINVAL if it is no lock, or the time's
/// nanoseconds are not below 1,000,000,000.
///
/// - The rules of lw_debug_rtmutex_lock apply.
/// - The lock is taken if it is free, even if the time has passed.
///
/// # Safety
/// Memory of a lock; a time or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_rtmutex_timedlock(
    lock: *mut lw_debug_rtmutex_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: `until` is null or points to a time, as locks.h requires.
    match unsafe { deadline(until) } {
        // SAFETY: `lock` points to memory of an lw_debug_rtmutex_t that the caller keeps alive, as
        // locks.h requires.
        Ok(deadline) => unsafe { take(lock, Flags::TIMED, deadline) },
        Err(error) => error,
    }
}

/// # Safety
/// Memory of a lock.
unsafe fn take(lock: *mut lw_debug_rtmutex_t, flags: Flags, deadline: Option<u64>) -> c_int {
    let mut outcome = Ok(());
    let wait = |raw: &RawRtMutex<Linux>| {
        outcome = raw.lock_until(deadline);
        outcome.is_ok()
    };
    // SAFETY: by contract `lock` points to live memory of a lock, as `lock_by` demands.
    let error = unsafe { debug::lock_by(lock, flags, wait) };
    match outcome {
        Ok(()) => error,
        Err(Error::Deadlock) => libc::EDEADLK,
        Err(Error::TimedOut) => libc::ETIMEDOUT,
    }
}

/// Takes the lock if nobody has it. Returns 0, EBUSY, or EINVAL if it is none.
///
/// - Any thread may call this: it does not wait. The holder gets EBUSY, not EDEADLK.
///
/// # Safety
/// Memory of a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_rtmutex_trylock(lock: *mut lw_debug_rtmutex_t) -> c_int {
    // SAFETY: `lock` points to memory of an lw_debug_rtmutex_t that the caller keeps alive, as
    // locks.h requires.
    unsafe { debug::trylock(lock) }
}

/// Releases the lock. Returns 0, EALREADY if nobody holds it, EPERM if another thread does, EINVAL
/// if it is none; then it stays as it is.
///
/// - The caller must not call this again after an error: the lock is not the caller's.
///
/// # Safety
/// Memory of a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_rtmutex_unlock(lock: *mut lw_debug_rtmutex_t) -> c_int {
    // SAFETY: `lock` points to memory of an lw_debug_rtmutex_t that the caller keeps alive, as
    // locks.h requires.
    unsafe { debug::unlock(lock) }
}
