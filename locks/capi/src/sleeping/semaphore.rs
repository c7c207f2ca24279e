//! The counting semaphore. It has no owner, so the tool does not hear of it.

use core::ffi::c_int;

use libc::timespec;
use locks::platform::linux::Linux;
use locks::semaphore::RawSemaphore;

use crate::holds::{Holds as _, holds};
use crate::result::{deadline, done_or};

/// A counting semaphore: first come, first served; sleeps. Anyone may go up. Zeroed, nobody can go
/// down.
#[repr(C)]
pub struct lw_semaphore_t {
    /// The semaphore's own.
    pub opaque: [usize; 4],
}

holds!(lw_semaphore_t: RawSemaphore<Linux>);

/// Makes a semaphore that `count` can go down at once. Returns 0.
///
/// - The caller must do this before any other thread uses the memory, and never for a semaphore
///   in use: its waiters would be lost.
///
/// # Safety
/// Memory for a semaphore, which nobody uses as one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_semaphore_init(semaphore: *mut lw_semaphore_t, count: u32) -> c_int {
    // SAFETY: `semaphore` points to memory for one, which nobody uses as one, as locks.h requires.
    unsafe { semaphore.cast::<RawSemaphore<Linux>>().write(RawSemaphore::new(count)) };
    0
}

/// Goes down, and waits for that as long as it takes. Returns 0.
///
/// - A thread must not call this with the last count taken by itself, unless another thread will
///   go up.
/// - The caller must not hold a spinning lock: this call may sleep.
/// - A signal handler must not call this: it may have interrupted a change of the semaphore.
///
/// # Safety
/// A semaphore.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_semaphore_down(semaphore: *mut lw_semaphore_t) -> c_int {
    // SAFETY: `semaphore` points to an lw_semaphore_t that the caller initialised and keeps alive,
    // as locks.h requires.
    unsafe { lw_semaphore_t::lock(semaphore) }.down();
    0
}

/// Goes down if that needs no waiting. Returns 0, or EBUSY.
///
/// - Any thread may call this: it does not wait for the semaphore to go up.
/// - A signal handler must not call this: it may have interrupted a change of the semaphore.
///
/// # Safety
/// A semaphore.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_semaphore_trydown(semaphore: *mut lw_semaphore_t) -> c_int {
    // SAFETY: `semaphore` points to an lw_semaphore_t that the caller initialised and keeps alive,
    // as locks.h requires.
    done_or(libc::EBUSY, unsafe { lw_semaphore_t::lock(semaphore) }.try_down())
}

/// Goes down, or gives up at a time of CLOCK_MONOTONIC; null: never. Returns 0; ETIMEDOUT, if that
/// has come; EINVAL, if its nanoseconds are not below 1,000,000,000.
///
/// - The rules of lw_semaphore_down apply.
///
/// # Safety
/// A semaphore; a time or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_semaphore_timeddown(
    semaphore: *mut lw_semaphore_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: `semaphore` points to a live, initialised lw_semaphore_t, and `until` to a time or is
    // null, as locks.h requires.
    let (raw, deadline) = unsafe { (lw_semaphore_t::lock(semaphore), deadline(until)) };
    match deadline {
        Ok(deadline) => done_or(libc::ETIMEDOUT, raw.down_until(deadline)),
        Err(error) => error,
    }
}

/// Goes up: the first waiter gets it, or the next one to come. Returns 0.
///
/// - Any thread may call this, also one that did not go down. One call too many lets one thread
///   too many go down, and nothing reports it.
/// - A signal handler must not call this: it may have interrupted a change of the semaphore.
/// - The caller may free the semaphore afterwards, if no other thread will use it.
///
/// # Safety
/// A semaphore.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_semaphore_up(semaphore: *mut lw_semaphore_t) -> c_int {
    // SAFETY: `semaphore` points to an lw_semaphore_t that the caller initialised and keeps alive,
    // as locks.h requires.
    unsafe { lw_semaphore_t::lock(semaphore) }.up();
    0
}
