//! The mutex.

use core::ffi::c_int;

use libc::timespec;
use locks::mutex::RawMutex;
use locks::platform::linux::Linux;

use crate::acquire::{self, Exclusive};
use crate::holds::holds;
use crate::tool;

/// A mutex: a waiter sleeps, but spins instead while the owner runs; no thread starves. Not
/// recursive; the thread that locked it unlocks it. The last thread to unlock it may free it.
#[repr(C)]
pub struct lw_mutex_t {
    /// The lock's own.
    pub opaque: [usize; 5],
}

holds!(lw_mutex_t: RawMutex<Linux>);

/// Makes a free lock of any memory. Not needed where `LW_MUTEX_INIT` or zeros are. Returns 0.
///
/// - The caller must do this before any other thread uses the memory, and never for a lock in
///   use: its waiters would be lost.
///
/// # Safety
/// Memory for a lock, which nobody uses as one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_mutex_init(lock: *mut lw_mutex_t) -> c_int {
    // SAFETY: `lock` points to memory for an lw_mutex_t that nobody uses as one, as locks.h
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
pub unsafe extern "C" fn lw_mutex_destroy(lock: *mut lw_mutex_t) -> c_int {
    tool::destroy(lock)
}

/// Waits for the lock and takes it. Returns 0.
///
/// - The caller must not hold the lock already: it would wait for ever. lockwright check reports
///   it.
/// - The caller must not hold a spinning lock: this call may sleep.
/// - A signal handler must not call this: it may have interrupted a holder or a waiter.
///
/// # Safety
/// A lock, which this thread does not hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_mutex_lock(lock: *mut lw_mutex_t) -> c_int {
    // SAFETY: `lock` points to an lw_mutex_t that the caller initialised and keeps alive, as
    // locks.h requires.
    unsafe { acquire::lock::<Exclusive, _>(lock) }
}

/// Takes the lock if it is free. Returns 0, or EBUSY.
///
/// - Any thread may call this: it does not wait. The holder gets EBUSY.
///
/// # Safety
/// A lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_mutex_trylock(lock: *mut lw_mutex_t) -> c_int {
    // SAFETY: `lock` points to an lw_mutex_t that the caller initialised and keeps alive, as
    // locks.h requires.
    unsafe { acquire::trylock::<Exclusive, _>(lock) }
}

/// Takes the lock, or gives up at a time of CLOCK_MONOTONIC; null: never. Returns 0; ETIMEDOUT, if
/// that has come; EINVAL, if its nanoseconds are not below 1,000,000,000.
///
/// - The rules of lw_mutex_lock apply.
/// - The lock is taken if it is free, even if the time has passed.
///
/// # Safety
/// A lock, which this thread does not hold; a time or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_mutex_timedlock(
    lock: *mut lw_mutex_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: `lock` points to a live, initialised lw_mutex_t, and `until` to a time or is null, as
    // locks.h requires.
    unsafe { acquire::timedlock::<Exclusive, _>(lock, until, RawMutex::lock_until) }
}

/// Releases the lock. Returns 0.
///
/// - Only the thread that took the lock may release it, once. After any other call two threads
///   can be inside at once.
/// - The caller may free the lock afterwards, if no other thread will use it.
///
/// # Safety
/// A lock that this thread holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_mutex_unlock(lock: *mut lw_mutex_t) -> c_int {
    // SAFETY: `lock` points to an initialised lw_mutex_t that the calling thread holds, as locks.h
    // requires.
    unsafe { acquire::unlock::<Exclusive, _>(lock) }
}
