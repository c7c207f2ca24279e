//! Registers of the calling thread.

use core::arch::asm;

/// The stack pointer.
#[inline(always)]
pub fn stack_pointer() -> u64 {
    let rsp: u64;
    // SAFETY: the instruction only copies `rsp`: no memory, no flags and no stack change.
    unsafe { asm!("mov {}, rsp", out(reg) rsp, options(nomem, nostack, preserves_flags)) };
    rsp
}
