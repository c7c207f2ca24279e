//! x86-64.

use core::arch::asm;
use core::ffi::{c_long, c_void};

/// The number of the machine in ELF files.
pub const MACHINE: u64 = 62;

/// What a relocation does: the word is the address of a symbol.
pub const GLOB_DAT: u64 = 6;
/// As that; perhaps only from the first call on.
pub const JUMP_SLOT: u64 = 7;

/// A system call. Errors are negative numbers.
///
/// # Safety
/// As the call's own.
pub unsafe fn system_call(number: c_long, arguments: [usize; 4]) -> isize {
    let result: isize;
    let [a, b, c, d] = arguments;
    // SAFETY: the kernel's convention; the caller answers for what the call does to memory.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    result
}

/// Where the dynamic section of this library is.
pub fn own_dynamic() -> *const c_void {
    let own;
    // SAFETY: the address of this library's dynamic section.
    unsafe {
        asm!("lea {}, [rip + _DYNAMIC]", out(reg) own, options(nomem, nostack, preserves_flags))
    };
    own
}
