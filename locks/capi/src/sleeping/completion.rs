//! The completion.

use core::ffi::c_int;

use libc::timespec;
use locks::completion::RawCompletion;
use locks::platform::linux::Linux;

use crate::holds::{Holds as _, holds};
use crate::result::{deadline, done_or};
use crate::tool;

/// A completion: threads wait until others have done something. A thread may free it as soon as its
/// wait returns.
#[repr(C)]
pub struct lw_completion_t {
    /// The completion's own.
    pub opaque: [usize; 4],
}

holds!(lw_completion_t: RawCompletion<Linux>);

/// Makes a completion of any memory: nothing is done. Not needed where `LW_COMPLETION_INIT` or
/// zeros are. Returns 0.
///
/// - The caller must do this before any other thread uses the memory. lw_completion_reinit is for
///   later.
///
/// # Safety
/// Memory for a completion, which nobody uses as one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_completion_init(completion: *mut lw_completion_t) -> c_int {
    // SAFETY: `completion` points to memory that nobody uses as one, as locks.h requires; zeroed,
    // nothing is done.
    unsafe { completion.write_bytes(0, 1) };
    0
}

/// Waits until completed, as long as it takes. Uses up one `lw_completion_complete`. Returns 0.
///
/// - The caller must not hold a lock that the completing thread needs first: the two would wait
///   for each other.
/// - The caller must not hold a spinning lock: this call may sleep.
/// - A signal handler must not call this: it may have interrupted a change of the completion.
///
/// # Safety
/// A completion.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_completion_wait(completion: *mut lw_completion_t) -> c_int {
    // SAFETY: `completion` points to an lw_completion_t that the caller initialised and keeps
    // alive, as locks.h requires.
    let raw = unsafe { lw_completion_t::lock(completion) };
    tool::wait(raw, || raw.wait_until(None));
    0
}

/// Uses up one `lw_completion_complete`, if there is any. Returns 0, or EBUSY.
///
/// - Any thread may call this: it does not wait to be completed.
/// - A signal handler must not call this: it may have interrupted a change of the completion.
///
/// # Safety
/// A completion.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_completion_trywait(completion: *mut lw_completion_t) -> c_int {
    // SAFETY: `completion` points to an lw_completion_t that the caller initialised and keeps
    // alive, as locks.h requires.
    done_or(libc::EBUSY, unsafe { lw_completion_t::lock(completion) }.try_wait())
}

/// Waits until completed, or gives up at a time of CLOCK_MONOTONIC; null: never. Returns 0;
/// ETIMEDOUT, if that has come; EINVAL, if its nanoseconds are not below 1,000,000,000.
///
/// - The rules of lw_completion_wait apply.
///
/// # Safety
/// A completion; a time or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_completion_timedwait(
    completion: *mut lw_completion_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: `completion` points to a live, initialised lw_completion_t, and `until` to a time or
    // is null, as locks.h requires.
    let (raw, deadline) = unsafe { (lw_completion_t::lock(completion), deadline(until)) };
    match deadline {
        Ok(deadline) => done_or(libc::ETIMEDOUT, tool::wait(raw, || raw.wait_until(deadline))),
        Err(error) => error,
    }
}

/// Completes the wait of the longest waiter, or of the next one to come. Returns 0.
///
/// - Any thread may call this. It must not touch the completion afterwards, if the waiter may
///   free it.
/// - A signal handler must not call this: it may have interrupted a change of the completion.
///
/// # Safety
/// A completion.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_completion_complete(completion: *mut lw_completion_t) -> c_int {
    // SAFETY: `completion` points to an lw_completion_t that the caller initialised and keeps
    // alive, as locks.h requires.
    let raw = unsafe { lw_completion_t::lock(completion) };
    tool::complete(raw);
    raw.complete();
    0
}

/// Completes all waits, also those to come, until `lw_completion_reinit`. Returns 0.
///
/// - The rules of lw_completion_complete apply.
///
/// # Safety
/// A completion.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_completion_complete_all(completion: *mut lw_completion_t) -> c_int {
    // SAFETY: `completion` points to an lw_completion_t that the caller initialised and keeps
    // alive, as locks.h requires.
    let raw = unsafe { lw_completion_t::lock(completion) };
    tool::complete(raw);
    raw.complete_all();
    0
}

/// Resets the completion to "nothing is done". Returns 0.
///
/// - No thread may wait or complete meanwhile: a wait that was completed could begin again.
///
/// # Safety
/// A completion that nobody waits for or completes meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_completion_reinit(completion: *mut lw_completion_t) -> c_int {
    // SAFETY: `completion` points to an lw_completion_t that the caller initialised and keeps
    // alive, as locks.h requires.
    unsafe { lw_completion_t::lock(completion) }.reinit();
    0
}
