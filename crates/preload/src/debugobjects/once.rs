//! pthread_once, and C11's call_once: once the routine has run they forward. While it runs, the
//! control is in use.
//!
//! The routine may leave by an exception or with its thread, past us: then it is not run, and may
//! be again. So the call is made in a function with a personality routine of its own.

use core::ffi::{c_int, c_void};

use libc::pthread_once_t;

use crate::debugobjects::used::used_static;
use crate::debugobjects::{types, waiters};
use crate::libc::real;
use crate::stack::unwound_call::unwound_call;

/// A routine that is run once.
pub type Routine = unsafe extern "C-unwind" fn();

type Control = *mut pthread_once_t;

unwound_call!("lockwright_call_routine", call_once_with, waiters::routine_unwound());

/// The routine may not have run yet: `once` runs it, or waits for whoever does.
unsafe fn run(control: Control, routine: Routine, once: *mut c_void) -> c_int {
    used_static(&types::ONCE, control as u64);
    let running = waiters::begin_routine(&types::ONCE, control as u64);
    // SAFETY: forwarded.
    let result = unsafe { call_once_with(control.cast(), routine as *mut c_void, once) };
    waiters::end(running);
    result
}

/// `pthread_once` that has not been done.
pub unsafe extern "C-unwind" fn pthread_once(control: Control, routine: Routine) -> c_int {
    let next = real::slot::pthread_once.load(core::sync::atomic::Ordering::Relaxed);
    // SAFETY: forwarded.
    unsafe { run(control, routine, next) }
}

/// `call_once` that has not been done. It answers nothing.
pub unsafe extern "C-unwind" fn call_once(control: Control, routine: Routine) -> c_int {
    let next = real::slot::call_once.load(core::sync::atomic::Ordering::Relaxed);
    // SAFETY: forwarded.
    unsafe { run(control, routine, next) }
}
