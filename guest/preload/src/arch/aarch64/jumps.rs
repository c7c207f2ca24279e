//! Jump buffers of glibc's.

use core::arch::global_asm;
use core::ffi::c_void;

/// Offset of glibc's `__mask_was_saved` in a jump buffer, after 22 registers.
pub const MASK_WAS_SAVED: usize = 176;
/// Offset of the saved mask.
pub const MASK: usize = 184;
/// Offset of the stack pointer, which glibc keeps mangled.
const STACK_POINTER: usize = 104;

// What glibc mangles pointers in jump buffers with. It is nowhere that it could be read, so a buffer is filled where the stack
// pointer is known. A buffer has 312 bytes.
global_asm!(
    ".globl lockwright_pointer_guard",
    ".hidden lockwright_pointer_guard",
    ".type lockwright_pointer_guard, @function",
    "lockwright_pointer_guard:",
    ".cfi_startproc",
    "stp x29, x30, [sp, -336]!",
    ".cfi_def_cfa_offset 336",
    ".cfi_offset x29, -336",
    ".cfi_offset x30, -328",
    "add x0, sp, 16",
    "bl _setjmp",
    "ldr x0, [sp, {stack_pointer} + 16]",
    "mov x1, sp",
    "eor x0, x0, x1",
    "ldp x29, x30, [sp], 336",
    ".cfi_def_cfa_offset 0",
    ".cfi_restore x29",
    ".cfi_restore x30",
    "ret",
    ".cfi_endproc",
    ".size lockwright_pointer_guard, . - lockwright_pointer_guard",
    stack_pointer = const STACK_POINTER,
);

unsafe extern "C" {
    /// As said above.
    fn lockwright_pointer_guard() -> u64;
}

/// The stack pointer in a jump buffer.
///
/// # Safety
/// `to` points to a `jmp_buf` that a setjmp of glibc's has filled.
pub unsafe fn jumps_to(to: *const c_void) -> u64 {
    // SAFETY: the stack pointer is a field of the filled `jmp_buf`, whose layout is glibc's; the function above has a frame of
    // its own, and nobody jumps to what it has filled.
    unsafe { to.byte_add(STACK_POINTER).cast::<u64>().read() ^ lockwright_pointer_guard() }
}
