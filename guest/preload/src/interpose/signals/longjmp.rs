//! Long jumps: they may leave a handler, and put another signal mask in force.

use core::ffi::{c_int, c_void};

use crate::arch::{MASK, MASK_WAS_SAVED, jumps_to};
use crate::debugobjects::waiters;
use crate::interpose::abandoned_waits;
use crate::libc::real;
use crate::lockdep::signal;

/// # Safety
/// `to` points to a `jmp_buf` that a setjmp of glibc's has filled.
unsafe fn jumps(to: *const c_void) {
    // SAFETY: the caller promises a `jmp_buf` that a setjmp filled, and glibc has these fields in
    // it.
    let mask = unsafe {
        let was_saved = to.byte_add(MASK_WAS_SAVED).cast::<c_int>().read() != 0;
        was_saved.then(|| to.byte_add(MASK).cast::<u64>().read())
    };
    signal::jumps(mask);
    waiters::unwound();
    // SAFETY: as the caller promises.
    abandoned_waits::jumped(unsafe { jumps_to(to) });
}

/// `longjmp`, `_longjmp` and `siglongjmp`, which are one in glibc.
///
/// # Safety
/// The arguments keep the contract of `longjmp`.
pub unsafe extern "C-unwind" fn longjmp(to: *mut c_void, value: c_int, _site: u64) -> c_int {
    // SAFETY: `to` is the program's own buffer, which a setjmp filled, and `siglongjmp` gets it
    // unchanged.
    unsafe {
        jumps(to);
        real::siglongjmp(to, value)
    }
}

/// What fortified programs call.
///
/// # Safety
/// The arguments keep the contract of `__longjmp_chk`.
pub unsafe extern "C-unwind" fn longjmp_chk(to: *mut c_void, value: c_int, _site: u64) -> c_int {
    // SAFETY: `to` is the program's own `jmp_buf`, which a setjmp filled, and `__longjmp_chk` gets
    // it unchanged.
    unsafe {
        jumps(to);
        real::__longjmp_chk(to, value)
    }
}
