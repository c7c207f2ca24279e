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

/// A routine that is run once.
pub type Routine = unsafe extern "C-unwind" fn();

type Control = *mut pthread_once_t;

core::arch::global_asm!(
    ".globl lockwright_call_routine",
    ".hidden lockwright_call_routine",
    ".type lockwright_call_routine, @function",
    "lockwright_call_routine:",
    ".cfi_startproc",
    // DW_EH_PE_pcrel | DW_EH_PE_sdata4.
    ".cfi_personality 0x1b, {personality}",
    "sub rsp, 8",
    ".cfi_adjust_cfa_offset 8",
    "call rdx",
    "add rsp, 8",
    ".cfi_adjust_cfa_offset -8",
    "ret",
    ".cfi_endproc",
    ".size lockwright_call_routine, . - lockwright_call_routine",
    personality = sym personality,
);

unsafe extern "C-unwind" {
    /// Calls `once(control, routine)`.
    fn lockwright_call_routine(control: Control, routine: Routine, once: *mut c_void) -> c_int;
}

/// `_UA_CLEANUP_PHASE`, `_URC_CONTINUE_UNWIND`: as in `forced_unwind.rs`.
const CLEANUP_PHASE: c_int = 2;
const CONTINUE_UNWIND: c_int = 8;

/// What the unwinder calls for the frame of `lockwright_call_routine`.
unsafe extern "C" fn personality(
    _version: c_int,
    actions: c_int,
    _class: u64,
    _exception: *mut c_void,
    _context: *mut c_void,
) -> c_int {
    if actions & CLEANUP_PHASE != 0 {
        waiters::routine_unwound();
    }
    CONTINUE_UNWIND
}

/// The routine may not have run yet: `once` runs it, or waits for whoever does.
unsafe fn run(control: Control, routine: Routine, once: *mut c_void) -> c_int {
    used_static(&types::ONCE, control as u64);
    let running = waiters::begin_routine(&types::ONCE, control as u64);
    // SAFETY: forwarded.
    let result = unsafe { lockwright_call_routine(control, routine, once) };
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
