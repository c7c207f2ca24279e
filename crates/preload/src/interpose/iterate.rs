//! `dl_iterate_phdr`, which holds a lock of the loader's while its callback runs. Unwinders before
//! GCC 12's call it for each exception, and so do those with a C library before glibc 2.35.
//!
//! An exception in the callback, or the thread's end, unwinds past us, and the C library releases the
//! lock. So the call is made in a function with a personality routine of its own.

use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;

use crate::callsite::Return;
use crate::libc::real;
use crate::lockdep::loader;

core::arch::global_asm!(
    ".globl lockwright_call_iterate",
    ".hidden lockwright_call_iterate",
    ".type lockwright_call_iterate, @function",
    "lockwright_call_iterate:",
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
    ".size lockwright_call_iterate, . - lockwright_call_iterate",
    personality = sym personality,
);

unsafe extern "C-unwind" {
    /// Calls `iterate(callback, data)`.
    fn lockwright_call_iterate(
        callback: *mut c_void,
        data: *mut c_void,
        iterate: *mut c_void,
    ) -> c_int;
}

/// `_UA_CLEANUP_PHASE`, `_URC_CONTINUE_UNWIND`: as in `forced_unwind.rs`.
const CLEANUP_PHASE: c_int = 2;
const CONTINUE_UNWIND: c_int = 8;

/// What the unwinder calls for the frame of `lockwright_call_iterate`.
unsafe extern "C" fn personality(
    _version: c_int,
    actions: c_int,
    _class: u64,
    _exception: *mut c_void,
    _context: *mut c_void,
) -> c_int {
    if actions & CLEANUP_PHASE != 0 {
        loader::leave(&loader::OBJECT_LIST);
    }
    CONTINUE_UNWIND
}

/// `dl_iterate_phdr`, with the lock of the list held as far as we know.
pub unsafe extern "C-unwind" fn dl_iterate_phdr(
    callback: *mut c_void,
    data: *mut c_void,
    site: u64,
    back: Return,
) -> c_int {
    // SAFETY: the program's call, which the stub came from.
    if !unsafe { loader::enter(&loader::OBJECT_LIST, site, back) } {
        // SAFETY: forwarded.
        return unsafe { real::dl_iterate_phdr(callback, data) };
    }
    let next = real::slot::dl_iterate_phdr.load(Relaxed);
    // SAFETY: forwarded; the stub comes here once the function is known.
    let result = unsafe { lockwright_call_iterate(callback, data, next) };
    loader::leave(&loader::OBJECT_LIST);
    result
}
