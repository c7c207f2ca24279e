//! Registers of the calling thread.

use core::arch::asm;

/// The stack pointer.
#[inline(always)]
pub fn stack_pointer() -> u64 {
    let sp: u64;
    // SAFETY: the instruction only copies `sp`: no memory, no flags and no stack change.
    unsafe { asm!("mov {}, sp", out(reg) sp, options(nomem, nostack, preserves_flags)) };
    sp
}
