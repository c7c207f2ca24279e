//! 64-bit Arm.

use core::arch::global_asm;

#[macro_use]
#[path = "../../../preload/src/arch/aarch64/code.rs"]
#[allow(unused_macros, reason = "the preload library has more kinds of functions")]
mod code;
#[macro_use]
#[path = "../../../preload/src/arch/aarch64/own.rs"]
#[allow(unused_macros, reason = "the preload library does more with its words")]
mod own;
#[path = "../../../preload/src/arch/aarch64/mem.rs"]
mod mem;
#[path = "../../../preload/src/arch/aarch64/system_call.rs"]
#[allow(dead_code, reason = "the preload library has more to do with processes")]
mod system_call;

pub use self::system_call::{symbol_version, system_call};

/// None: glibc's structure of a thread ends where `tpidr_el0` points to, and how long it is differs by version.
#[inline(always)]
pub fn librarys_id() -> Option<u32> {
    None
}

// `lockwright_swap_guarded(body, argument, cleanup)`, as `cancel` says. A `__pthread_unwind_buf_t` is 224 bytes: 22 registers,
// whether there is a mask, four pointers, and what aligns the next.
global_asm!(
    ".pushsection .text.lockwright_swap_guarded,\"ax\",@progbits",
    ".globl lockwright_swap_guarded",
    ".hidden lockwright_swap_guarded",
    ".type lockwright_swap_guarded, @function",
    "lockwright_swap_guarded:",
    ".cfi_startproc",
    "sub sp, sp, 272",
    ".cfi_def_cfa_offset 272",
    "stp x29, x30, [sp, 224]",
    ".cfi_offset x29, -48",
    ".cfi_offset x30, -40",
    "add x29, sp, 224",
    ".cfi_def_cfa x29, 48",
    "stp x19, x20, [sp, 240]",
    ".cfi_offset x19, -32",
    ".cfi_offset x20, -24",
    "str x21, [sp, 256]",
    ".cfi_offset x21, -16",
    "mov x19, x0",
    "mov x20, x1",
    "mov x21, x2",
    "mov x0, sp",
    "mov w1, 0",
    "bl __sigsetjmp",
    "cbnz w0, 2f",
    "mov x0, sp",
    "bl __pthread_register_cancel",
    "mov x0, x20",
    "blr x19",
    "mov x0, sp",
    "bl __pthread_unregister_cancel",
    "ldr x21, [sp, 256]",
    "ldp x19, x20, [sp, 240]",
    "ldp x29, x30, [sp, 224]",
    "add sp, sp, 272",
    ".cfi_remember_state",
    ".cfi_def_cfa sp, 0",
    ".cfi_restore x21",
    ".cfi_restore x20",
    ".cfi_restore x19",
    ".cfi_restore x30",
    ".cfi_restore x29",
    "ret",
    // Cancelled: the registers that a call leaves alone are as they were at the `bl` above.
    "2:",
    ".cfi_restore_state",
    "mov x0, x20",
    "blr x21",
    "mov x0, sp",
    "bl __pthread_unwind_next",
    "brk 1",
    ".cfi_endproc",
    ".size lockwright_swap_guarded, . - lockwright_swap_guarded",
    ".popsection",
);
