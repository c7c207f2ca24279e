//! The mutex with the kernel's checks (`DEBUG_MUTEXES`).

use core::ffi::c_int;

use locks::debug::RawDebug;
use locks::mutex::RawMutex;
use locks::platform::linux::Linux;

use crate::debug;
use crate::holds::holds;

/// A mutex that knows its owner, and whether it is one: its functions refuse what is a misuse of it,
/// and tell which. Zeros are no lock.
#[repr(C)]
pub struct lw_debug_mutex_t {
    /// The lock's own.
    pub opaque: [usize; 8],
}

holds!(lw_debug_mutex_t: RawDebug<Linux, RawMutex<Linux>>);

/// Makes a free lock of any memory: always needed, as zeros are none. Returns 0.
///
/// - The caller must do this before any other thread uses the memory, and never for a lock in
///   use: its waiters would be lost.
///
/// # Safety
/// Memory for a lock, which nobody uses as one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_mutex_init(lock: *mut lw_debug_mutex_t) -> c_int {
    // SAFETY: `lock` points to memory for an lw_debug_mutex_t that nobody uses as one, as locks.h
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
pub unsafe extern "C" fn lw_debug_mutex_destroy(lock: *mut lw_debug_mutex_t) -> c_int {
    // SAFETY: `lock` points to memory of an lw_debug_mutex_t that the caller keeps alive, as
    // locks.h requires.
    unsafe { debug::destroy(lock) }
}

/// Waits for the lock and takes it. Returns 0, EDEADLK if this thread holds it, EINVAL if it is
/// none.
///
/// - The caller must not go on as if it had the lock after an error.
/// - The caller must not hold a spinning lock: this call may sleep.
/// - A signal handler must not call this: it may have interrupted a holder or a waiter.
///
/// # Safety
/// Memory of a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_mutex_lock(lock: *mut lw_debug_mutex_t) -> c_int {
    // SAFETY: `lock` points to memory of an lw_debug_mutex_t that the caller keeps alive, as
    // locks.h requires.
    unsafe { debug::lock(lock) }
}

/// Takes the lock if nobody has it. Returns 0, EBUSY, or EINVAL if it is none.
///
/// - Any thread may call this: it does not wait. The holder gets EBUSY, not EDEADLK.
///
/// # Safety
/// Memory of a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_mutex_trylock(lock: *mut lw_debug_mutex_t) -> c_int {
    // SAFETY: `lock` points to memory of an lw_debug_mutex_t that the caller keeps alive, as
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
pub unsafe extern "C" fn lw_debug_mutex_unlock(lock: *mut lw_debug_mutex_t) -> c_int {
    // SAFETY: `lock` points to memory of an lw_debug_mutex_t that the caller keeps alive, as
    // locks.h requires.
    unsafe { debug::unlock(lock) }
}
