//! x86-64.

use object::elf;

/// The `e_machine` that this binary's own preload library is for.
pub const MACHINE: elf::Machine = elf::EM_X86_64;

/// Its name.
pub const NAME: &str = "x86-64";

/// Where a stopped thread is: the instruction, and the top of its stack.
pub fn position(registers: &libc::user_regs_struct) -> (u64, u64) {
    (registers.rip, registers.rsp)
}

/// Where a function returns to that has not saved it: nowhere, it is on the stack.
pub fn returns_to(_: &libc::user_regs_struct) -> Option<u64> {
    None
}
