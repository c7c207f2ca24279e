//! Jump buffers of glibc's.

use core::arch::asm;
use core::ffi::c_void;

/// Offset of glibc's `__mask_was_saved` in a jump buffer, after eight registers.
pub const MASK_WAS_SAVED: usize = 64;
/// Offset of the saved mask.
pub const MASK: usize = 72;
/// Offset of the stack pointer, which glibc keeps mangled.
const STACK_POINTER: usize = 48;

/// What glibc mangles pointers in jump buffers with: a word of the thread's control block.
fn pointer_guard() -> u64 {
    let guard: u64;
    // SAFETY: each thread has a control block at `fs`, and glibc's has the guard in this word.
    unsafe {
        asm!("mov {}, fs:[0x30]", out(reg) guard, options(nostack, readonly, preserves_flags))
    };
    guard
}

/// The stack pointer in a jump buffer.
///
/// # Safety
/// `to` points to a `jmp_buf` that a setjmp of glibc's has filled.
pub unsafe fn jumps_to(to: *const c_void) -> u64 {
    // SAFETY: the stack pointer is a field of the filled `jmp_buf`, whose layout is glibc's.
    let mangled = unsafe { to.byte_add(STACK_POINTER).cast::<u64>().read() };
    mangled.rotate_right(17) ^ pointer_guard()
}
