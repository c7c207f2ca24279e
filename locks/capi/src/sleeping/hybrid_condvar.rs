//! The condition variable of [`lw_hybrid_mutex_t`].

use core::ffi::c_int;

use libc::timespec;
use locks::annotate::Flags;
use locks::condvar::RawCondvar;
use locks::hybrid_mutex::RawHybridMutex;
use locks::platform::linux::Linux;

use super::hybrid_mutex::lw_hybrid_mutex_t;
use crate::holds::{Holds as _, holds};
use crate::result::{deadline, done_or};
use crate::tool;

/// A condition variable, for what a hybrid mutex guards. First come, first woken; no wake comes of
/// nothing.
#[repr(C)]
pub struct lw_hybrid_condvar_t {
    /// The condition variable's own.
    pub opaque: [usize; 3],
}

holds!(lw_hybrid_condvar_t: RawCondvar<Linux, RawHybridMutex<Linux>>);

/// Makes a condition variable of any memory: nobody waits. Not needed where `LW_HYBRID_CONDVAR_INIT` or
/// zeros are. Returns 0.
///
/// - The caller must do this before any other thread uses the memory, and never while a thread
///   waits.
///
/// # Safety
/// Memory for a condition variable, which nobody uses as one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_hybrid_condvar_init(condvar: *mut lw_hybrid_condvar_t) -> c_int {
    // SAFETY: `condvar` points to memory that nobody uses as one, as locks.h requires; zeroed,
    // nobody waits.
    unsafe { condvar.write_bytes(0, 1) };
    0
}

/// Releases the mutex, waits for a signal as long as it takes, and takes the mutex again. Returns
/// 0.
///
/// - The caller must check the condition again afterwards: another thread may have changed it
///   first.
/// - The caller must not hold another lock that the signalling thread needs: the two would wait
///   for each other.
/// - A signal handler must not call this: it may have interrupted a change of the wait list.
///
/// # Safety
/// A condition variable; a mutex that this thread holds, the same for all who wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_hybrid_condvar_wait(
    condvar: *mut lw_hybrid_condvar_t,
    mutex: *mut lw_hybrid_mutex_t,
) -> c_int {
    // SAFETY: `condvar` is live and the calling thread holds `mutex`, as locks.h requires.
    unsafe { wait(condvar, mutex, None) };
    0
}

/// As `lw_hybrid_condvar_wait`, or gives up at a time of CLOCK_MONOTONIC; null: never. The mutex is held
/// afterwards in any case. Returns 0; ETIMEDOUT, if the time has come; EINVAL, if its nanoseconds
/// are not below 1,000,000,000.
///
/// - The rules of lw_hybrid_condvar_wait apply.
///
/// # Safety
/// As `lw_hybrid_condvar_wait`; a time or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_hybrid_condvar_timedwait(
    condvar: *mut lw_hybrid_condvar_t,
    mutex: *mut lw_hybrid_mutex_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: `until` is null or points to a time, as locks.h requires.
    match unsafe { deadline(until) } {
        // SAFETY: `condvar` is live and the calling thread holds `mutex`, as locks.h requires.
        Ok(deadline) => done_or(libc::ETIMEDOUT, unsafe { wait(condvar, mutex, deadline) }),
        Err(error) => error,
    }
}

/// # Safety
/// As [`lw_hybrid_condvar_wait`].
unsafe fn wait(
    condvar: *mut lw_hybrid_condvar_t,
    mutex: *mut lw_hybrid_mutex_t,
    deadline: Option<u64>,
) -> bool {
    // SAFETY: by contract `condvar` and `mutex` point to live, initialised objects.
    let (raw, guard) =
        unsafe { (lw_hybrid_condvar_t::lock(condvar), lw_hybrid_mutex_t::lock(mutex)) };
    // SAFETY: by contract the calling thread holds `mutex`, which all waiters of `condvar` use.
    let wait = || unsafe { raw.wait_until(guard, deadline) };
    tool::give_up(mutex, Flags::EXCLUSIVE, 1, wait)
}

/// Wakes the longest waiter. Returns 0.
///
/// - Any thread may call this. It should change the condition with the lw_hybrid_mutex_t held; it
///   may signal after it has released it.
/// - A signal handler must not call this: it may have interrupted a change of the wait list.
///
/// # Safety
/// A condition variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_hybrid_condvar_signal(condvar: *mut lw_hybrid_condvar_t) -> c_int {
    // SAFETY: `condvar` points to an lw_hybrid_condvar_t that the caller initialised and keeps
    // alive, as locks.h requires.
    unsafe { lw_hybrid_condvar_t::lock(condvar) }.notify_one();
    0
}

/// Wakes everybody. Returns 0.
///
/// - The rules of lw_hybrid_condvar_signal apply.
///
/// # Safety
/// A condition variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_hybrid_condvar_broadcast(condvar: *mut lw_hybrid_condvar_t) -> c_int {
    // SAFETY: `condvar` points to an lw_hybrid_condvar_t that the caller initialised and keeps
    // alive, as locks.h requires.
    unsafe { lw_hybrid_condvar_t::lock(condvar) }.notify_all();
    0
}
