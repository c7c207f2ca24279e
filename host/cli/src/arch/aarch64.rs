//! 64-bit Arm.

use object::elf;

/// The `e_machine` that this binary's own preload library is for.
pub const MACHINE: elf::Machine = elf::EM_AARCH64;

/// Its name.
pub const NAME: &str = "64-bit Arm";

/// Where a stopped thread is: the instruction, and the top of its stack.
pub fn position(registers: &libc::user_regs_struct) -> (u64, u64) {
    (registers.pc, registers.sp)
}

/// Where a function returns to that has not saved it: the link register.
pub fn returns_to(registers: &libc::user_regs_struct) -> Option<u64> {
    Some(registers.regs[30])
}
