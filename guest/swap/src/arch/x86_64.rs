//! x86-64.

use core::arch::{asm, global_asm};

use lockwright_glibc::table::thread;

#[macro_use]
#[path = "../../../preload/src/arch/x86_64/code.rs"]
#[allow(unused_macros, reason = "the preload library has more kinds of functions")]
mod code;
#[macro_use]
#[path = "../../../preload/src/arch/x86_64/own.rs"]
#[allow(unused_macros, reason = "the preload library does more with its words")]
mod own;
#[path = "../../../preload/src/arch/x86_64/mem.rs"]
mod mem;
#[path = "../../../preload/src/arch/x86_64/system_call.rs"]
#[allow(dead_code, reason = "the preload library has more to do with processes")]
mod system_call;

pub use self::system_call::{symbol_version, system_call};

/// The thread's id where glibc keeps it: `tid` of its `struct pthread`, which has been there for as
/// long as x86-64 has been one of its machines. Whether it is so, `era` checks at start.
#[inline(always)]
pub fn librarys_id() -> Option<u32> {
    let id: u32;
    // SAFETY: reads within the C library's own structure of this thread, which is longer.
    unsafe {
        asm!("mov {0:e}, dword ptr fs:[{at}]", out(reg) id, at = const thread::TID.always(),
             options(nostack, readonly, preserves_flags));
    }
    Some(id)
}

// `lockwright_swap_guarded(body, argument, cleanup)`, as `cancel` says. A `__pthread_unwind_buf_t` is 104 bytes; the frame
// leaves the stack aligned for calls.
global_asm!(
    ".pushsection .text.lockwright_swap_guarded,\"ax\",@progbits",
    ".globl lockwright_swap_guarded",
    ".hidden lockwright_swap_guarded",
    ".type lockwright_swap_guarded, @function",
    "lockwright_swap_guarded:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "push rbx",
    "push r12",
    "push r13",
    ".cfi_offset rbx, -24",
    ".cfi_offset r12, -32",
    ".cfi_offset r13, -40",
    "sub rsp, 120",
    "mov r12, rdi",
    "mov rbx, rsi",
    "mov r13, rdx",
    "mov rdi, rsp",
    "xor esi, esi",
    "call __sigsetjmp@PLT",
    "test eax, eax",
    "jnz 2f",
    "mov rdi, rsp",
    "call __pthread_register_cancel@PLT",
    "mov rdi, rbx",
    "call r12",
    "mov rdi, rsp",
    "call __pthread_unregister_cancel@PLT",
    "add rsp, 120",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    ".cfi_remember_state",
    ".cfi_def_cfa rsp, 8",
    "ret",
    // Cancelled: the registers that a call leaves alone are as they were at the `call` above.
    "2:",
    ".cfi_restore_state",
    "mov rdi, rbx",
    "call r13",
    "mov rdi, rsp",
    "call __pthread_unwind_next@PLT",
    "ud2",
    ".cfi_endproc",
    ".size lockwright_swap_guarded, . - lockwright_swap_guarded",
    ".popsection",
);
