//! pthread_once, and C11's call_once: once the routine has run they forward. While it runs, the
//! control is in use, and is held as a lock is.
//!
//! The routine may leave by an exception or with its thread, past us: then it is not run, and may
//! be again. So the call is made in a function with a personality routine of its own. Only the call
//! of the routine shows which thread runs it. So we pass the C library a routine of ours instead.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;

use libc::pthread_once_t;

use crate::callsite::Return;
use crate::debugobjects::uses::used_static;
use crate::debugobjects::{types, waiters};
use crate::libc::real;
use crate::lockdep::once;
use crate::lockmeter;
use crate::os::tls;
use crate::stack::unwound_call::unwound_call;

/// A routine that is run once.
pub type Routine = unsafe extern "C-unwind" fn();

type Control = *mut pthread_once_t;

unwound_call!("lockwright_call_routine", call_once_with, routine_unwound());

fn routine_unwound() {
    once::unwound();
    waiters::routine_unwound();
}

/// A call that is watched.
struct Call {
    control: u64,
    routine: Routine,
    has_run: Cell<bool>,
    /// lockdep watches it.
    is_watched: bool,
}

/// The C library runs this instead of the program's routine.
///
/// # Safety
/// `run` of this thread has set the call, and its frame is there as long as this runs.
unsafe extern "C-unwind" fn watched_routine() {
    // SAFETY: `run` has set it in this thread, whose frame is there as long as this runs; what came
    // between, in a handler, has put it back.
    let call = unsafe { &*(tls::once_call() as *const Call) };
    call.has_run.set(true);
    lockmeter::once::runs(call.control);
    let (control, routine) = (call.control, call.routine);
    let before = call.is_watched.then(|| once::begins(control));
    // SAFETY: the program's, which the C library would have called here.
    unsafe { routine() };
    if let Some(before) = before {
        once::ends(control, before);
    }
}

/// The routine may not have run yet: `next` runs it, or waits for the thread that does.
///
/// # Safety
/// `next` is the C library's function that the program called with `control` and `routine`; the
/// stub passes `site` and `back`.
unsafe fn run(
    control: Control,
    routine: Routine,
    next: *mut c_void,
    site: u64,
    back: Return,
) -> c_int {
    used_static(&types::ONCE, control as u64);
    let running = waiters::begin_routine(&types::ONCE, control as u64);
    // SAFETY: the program's call, which the stub came from, has not returned.
    let is_watched = unsafe { once::enter(control as u64, site, back) };
    let waiting = lockmeter::once::enters(control as u64, site);
    let result = if is_watched || waiting.is_some() {
        let has_run = Cell::new(false);
        let call = Call { control: control as u64, routine, has_run, is_watched };
        let outer = tls::once_call();
        tls::set_once_call((&raw const call) as u64);
        // SAFETY: `next` gets the program's own `control`, and a routine that runs the program's.
        let result =
            unsafe { call_once_with(control.cast(), watched_routine as *mut c_void, next) };
        tls::set_once_call(outer);
        if is_watched {
            once::returned(control as u64, call.has_run.get());
        }
        if let Some(waiting) = waiting {
            lockmeter::once::returned(waiting, call.has_run.get());
        }
        result
    } else {
        // SAFETY: `next` is the C library's function, which gets the program's own `control` and
        // `routine` unchanged.
        unsafe { call_once_with(control.cast(), routine as *mut c_void, next) }
    };
    waiters::end(running);
    result
}

/// `pthread_once` that has not been done.
///
/// # Safety
/// The arguments keep the contract of `pthread_once`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn pthread_once(
    control: Control,
    routine: Routine,
    site: u64,
    back: Return,
) -> c_int {
    let next = real::slot::pthread_once.load(Relaxed);
    // SAFETY: `next` is the next `pthread_once`; `control` and `routine` are the program's own
    // arguments.
    unsafe { run(control, routine, next, site, back) }
}

/// `call_once` that has not been done. It answers nothing.
///
/// # Safety
/// The arguments keep the contract of `call_once`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn call_once(
    control: Control,
    routine: Routine,
    site: u64,
    back: Return,
) -> c_int {
    let next = real::slot::call_once.load(Relaxed);
    // SAFETY: `next` is the next `call_once`; `control` and `routine` are the program's own
    // arguments.
    unsafe { run(control, routine, next, site, back) }
}

/// Those for a control that is done, where routines that have taken locks have run.
pub mod done {
    use super::*;

    /// `pthread_once`.
    ///
    /// # Safety
    /// The arguments keep the contract of `pthread_once`; the stub passes `site` and `back`.
    pub unsafe extern "C-unwind" fn pthread_once(
        control: Control,
        routine: Routine,
        site: u64,
        back: Return,
    ) -> c_int {
        // SAFETY: the program's call has not returned, and the next `pthread_once` gets its
        // arguments unchanged.
        unsafe {
            once::is_done(control as u64, site, back);
            real::pthread_once(control, routine)
        }
    }

    /// `call_once`.
    ///
    /// # Safety
    /// The arguments keep the contract of `call_once`; the stub passes `site` and `back`.
    pub unsafe extern "C-unwind" fn call_once(
        control: Control,
        routine: Routine,
        site: u64,
        back: Return,
    ) -> c_int {
        // SAFETY: `call_once` gets the program's own arguments unchanged, and the stub passed
        // `site` and `back`.
        unsafe {
            once::is_done(control as u64, site, back);
            real::call_once(control, routine)
        }
    }
}
