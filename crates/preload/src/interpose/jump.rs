//! Long jumps: they may leave a handler, and put another signal mask in force.

use core::ffi::{c_int, c_void};

use super::leave;
use crate::debugobjects::waiters;
use crate::libc::real;
use crate::lockdep::signal;

/// Offset of glibc's `__mask_was_saved` in a jump buffer, after eight registers.
const MASK_WAS_SAVED: usize = 64;
/// Offset of the saved mask.
const MASK: usize = 72;
/// Offset of the stack pointer, which glibc keeps mangled.
const STACK_POINTER: usize = 48;

/// What glibc mangles pointers in jump buffers with: a word of the thread's control block.
fn pointer_guard() -> u64 {
    let guard: u64;
    // SAFETY: reads the thread's control block.
    unsafe {
        core::arch::asm!("mov {}, fs:[0x30]", out(reg) guard, options(nostack, readonly, preserves_flags))
    };
    guard
}

unsafe fn jumps(to: *const c_void) {
    // SAFETY: the caller's buffer.
    let mask = unsafe {
        let was_saved = to.byte_add(MASK_WAS_SAVED).cast::<c_int>().read() != 0;
        was_saved.then(|| to.byte_add(MASK).cast::<u64>().read())
    };
    // SAFETY: as above.
    let mangled = unsafe { to.byte_add(STACK_POINTER).cast::<u64>().read() };
    signal::jumps(mask);
    waiters::unwound();
    leave::jumped(mangled.rotate_right(17) ^ pointer_guard());
}

/// `longjmp`, `_longjmp` and `siglongjmp`, which are one in glibc.
pub unsafe extern "C-unwind" fn longjmp(to: *mut c_void, value: c_int, _site: u64) -> c_int {
    // SAFETY: a buffer that a setjmp has filled; forwarded.
    unsafe {
        jumps(to);
        real::siglongjmp(to, value)
    }
}

/// What fortified programs call.
pub unsafe extern "C-unwind" fn longjmp_chk(to: *mut c_void, value: c_int, _site: u64) -> c_int {
    // SAFETY: as above.
    unsafe {
        jumps(to);
        real::__longjmp_chk(to, value)
    }
}
