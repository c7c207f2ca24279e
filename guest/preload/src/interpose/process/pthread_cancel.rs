//! pthread_cancel.

use core::ffi::c_int;

use libc::pthread_t;

use crate::lockdep::thread;
use crate::lockmeter;

/// # Safety
/// The arguments keep the contract of `pthread_cancel`; the stub passes `site`.
pub unsafe extern "C-unwind" fn pthread_cancel(t: pthread_t, site: u64) -> c_int {
    lockmeter::cond::cancels(t);
    // SAFETY: the program's own argument goes on unchanged: `thread::cancel` has the contract of `pthread_cancel`.
    unsafe { thread::cancel(t, site) }
}
