//! pthread_create.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use libc::{pthread_attr_t, pthread_t};

use crate::debugobjects::{attribute_calls, types};
use crate::libc::real::Start;
use crate::lockdep::thread;

/// Calls so far.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// How often a thread was to be created so far.
pub fn calls() -> u64 {
    CALLS.load(Relaxed)
}

/// # Safety
/// The arguments keep the contract of `pthread_create`.
pub unsafe extern "C-unwind" fn pthread_create(
    t: *mut pthread_t,
    attr: *const pthread_attr_t,
    start: Start,
    argument: *mut c_void,
    _site: u64,
) -> c_int {
    // Relaxed: a number that says nothing about other memory.
    CALLS.fetch_add(1, Relaxed);
    attribute_calls::made_by(&types::ATTR, attr);
    // SAFETY: the program's own arguments go on unchanged: `thread::create` has the contract of
    // `pthread_create`.
    unsafe { thread::create(t, attr, start, argument) }
}
