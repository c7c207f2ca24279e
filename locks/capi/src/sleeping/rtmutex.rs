//! The mutex with priority inheritance.

use core::ffi::c_int;

use libc::timespec;
use locks::annotate::Flags;
use locks::platform::linux::Linux;
use locks::rtmutex::{Error, RawRtMutex};

use crate::acquire::{self, Exclusive};
use crate::holds::{Holds as _, holds};
use crate::result::deadline;
use crate::tool;

/// A mutex with priority inheritance, which detects its deadlocks. Not recursive; the thread that
/// locked it unlocks it.
#[repr(C)]
pub struct lw_rtmutex_t {
    /// The lock's own.
    pub opaque: [usize; 4],
}

holds!(lw_rtmutex_t: RawRtMutex<Linux>);

/// Makes a free lock of any memory. Not needed where `LW_RTMUTEX_INIT` or zeros are. Returns 0.
///
/// - The caller must do this before any other thread uses the memory, and never for a lock in
///   use: its waiters would be lost.
///
/// # Safety
/// Memory for a lock, which nobody uses as one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rtmutex_init(lock: *mut lw_rtmutex_t) -> c_int {
    // SAFETY: `lock` points to memory for an lw_rtmutex_t that nobody uses as one, as locks.h
    // requires.
    unsafe { tool::init(lock) }
}

/// Ends the life of a lock. Nothing but the tool learns of it. Returns 0.
///
/// - No thread may hold, await or use the lock: nothing checks that.
///
/// # Safety
/// A lock that nobody holds or waits for, and nobody uses from here on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rtmutex_destroy(lock: *mut lw_rtmutex_t) -> c_int {
    tool::destroy(lock)
}

/// Waits for the lock and takes it. Returns 0; EDEADLK, if that were to wait for oneself, along a
/// chain of owners that wait for each other's locks.
///
/// - The caller must not go on as if it had the lock after EDEADLK.
/// - The caller must not hold a spinning lock: this call may sleep.
/// - A signal handler must not call this: it may have interrupted a holder or a waiter.
///
/// # Safety
/// A lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rtmutex_lock(lock: *mut lw_rtmutex_t) -> c_int {
    // SAFETY: `lock` points to an lw_rtmutex_t that the caller initialised and keeps alive, as
    // locks.h requires.
    let raw = unsafe { lw_rtmutex_t::lock(lock) };
    take(lock, raw, Flags::EXCLUSIVE, None)
}

/// Takes the lock if it is free, and nobody of a higher priority waits. Returns 0, or EBUSY.
///
/// - Any thread may call this: it does not wait for the owner. The holder gets EBUSY.
/// - A signal handler must not call this: it may have interrupted a holder or a waiter.
///
/// # Safety
/// A lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rtmutex_trylock(lock: *mut lw_rtmutex_t) -> c_int {
    // SAFETY: `lock` points to an lw_rtmutex_t that the caller initialised and keeps alive, as
    // locks.h requires.
    unsafe { acquire::trylock::<Exclusive, _>(lock) }
}

/// Takes the lock, or gives up at a time of CLOCK_MONOTONIC; null: never. Returns 0; ETIMEDOUT, if
/// that has come; EDEADLK as `lw_rtmutex_lock`; EINVAL, if the time's nanoseconds are not below
/// 1,000,000,000.
///
/// - The rules of lw_rtmutex_lock apply.
/// - The lock is taken if it is free, even if the time has passed.
///
/// # Safety
/// A lock; a time or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rtmutex_timedlock(
    lock: *mut lw_rtmutex_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: `lock` points to a live, initialised lw_rtmutex_t, and `until` to a time or is null,
    // as locks.h requires.
    let (raw, deadline) = unsafe { (lw_rtmutex_t::lock(lock), deadline(until)) };
    match deadline {
        Ok(deadline) => take(lock, raw, Flags::TIMED, deadline),
        Err(error) => error,
    }
}

fn take(
    lock: *mut lw_rtmutex_t,
    raw: &RawRtMutex<Linux>,
    flags: Flags,
    deadline: Option<u64>,
) -> c_int {
    let mut outcome = Ok(());
    let wait = || {
        outcome = raw.lock_until(deadline);
        outcome.is_ok()
    };
    tool::lock(lock, flags, || raw.try_lock(), wait);
    match outcome {
        Ok(()) => 0,
        Err(Error::Deadlock) => libc::EDEADLK,
        Err(Error::TimedOut) => libc::ETIMEDOUT,
    }
}

/// Releases the lock. Returns 0.
///
/// - Only the thread that took the lock may release it, once. After any other call two threads
///   can be inside at once.
/// - The caller may lose its CPU in this call: the priority that it inherited ends.
///
/// # Safety
/// A lock that this thread holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rtmutex_unlock(lock: *mut lw_rtmutex_t) -> c_int {
    // SAFETY: `lock` points to an initialised lw_rtmutex_t that the calling thread holds, as
    // locks.h requires.
    unsafe { acquire::unlock::<Exclusive, _>(lock) }
}
