//! 64-bit Arm.

use core::arch::asm;
use core::ffi::{c_long, c_void};

/// The number of the machine in ELF files.
pub const MACHINE: u64 = 183;

/// What a relocation does: the word is the address of a symbol.
pub const GLOB_DAT: u64 = 1025;
/// As that; perhaps only from the first call on.
pub const JUMP_SLOT: u64 = 1026;

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
            "svc 0",
            in("x8") number, inlateout("x0") a => result, in("x1") b, in("x2") c, in("x3") d,
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
        asm!("adrp {0}, _DYNAMIC", "add {0}, {0}, :lo12:_DYNAMIC", out(reg) own,
             options(nomem, nostack, preserves_flags))
    };
    own
}
