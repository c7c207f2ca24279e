//! The calling thread's words, in initial-exec TLS: two instructions to read, no call into the
//! loader (`thread_local!` in a shared library goes through `__tls_get_addr`, which may allocate
//! and lock).
//!
//! Each word has the era in its upper half in which it was written: what a forked child inherits
//! is out of date.

use core::arch::{asm, global_asm};

global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".balign 8",
    // Global, since code in any compilation unit refers to it; hidden, since nobody else may.
    ".globl lockwright_swap_thread",
    ".hidden lockwright_swap_thread",
    ".type lockwright_swap_thread, @object",
    ".size lockwright_swap_thread, 16",
    "lockwright_swap_thread:",
    ".zero 16",
    ".text",
);

/// Where the thread's id is.
pub const ID: usize = 0;
/// Where the thread's number is, plus 1; [`NONE`]: it is to have none.
pub const NUMBER: usize = 8;

/// No number.
pub const NONE: u32 = u32::MAX;

/// The word `AT` bytes into the thread's words: its value, if it is of this era.
#[inline(always)]
pub fn get<const AT: usize>(era: u32) -> Option<u32> {
    let word: u64;
    // SAFETY: reads this thread's words of the symbol above, through the offset that the loader
    // put into the GOT.
    unsafe {
        asm!("mov {0}, qword ptr [rip + lockwright_swap_thread@GOTTPOFF]",
             "mov {0}, qword ptr fs:[{0} + {at}]",
             out(reg) word, at = const AT, options(nostack, readonly, preserves_flags));
    }
    ((word >> 32) as u32 == era).then_some(word as u32)
}

/// Sets it.
pub fn set<const AT: usize>(era: u32, value: u32) {
    let word = (u64::from(era) << 32) | u64::from(value);
    // SAFETY: as in `get`.
    unsafe {
        asm!("mov {0}, qword ptr [rip + lockwright_swap_thread@GOTTPOFF]",
             "mov qword ptr fs:[{0} + {at}], {1}",
             out(reg) _, in(reg) word, at = const AT, options(nostack, preserves_flags));
    }
}
