//! System calls.

use core::arch::asm;
use core::ffi::{CStr, c_long};

/// # Safety
/// The arguments are valid for the system call `n`: what it reads and writes is the caller's.
#[inline]
pub unsafe fn system_call(n: i64, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let ret: isize;
    // SAFETY: the Linux x86-64 system call convention; the caller vouches for the arguments.
    unsafe {
        asm!("syscall", inlateout("rax") n as isize => ret, in("rdi") a, in("rsi") b, in("rdx") c,
             in("r10") d, in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _,
             options(nostack));
    }
    ret
}

/// The number of `futex`, as /proc has it.
pub const FUTEX_DIGITS: &[u8] = b"202";

/// The call that forks, and its first argument.
pub const FORK: (c_long, usize) = (libc::SYS_fork, 0);

/// The number of the call that forks and does nothing else, if there is one; else that of another that forks.
pub const SYS_FORK: c_long = libc::SYS_fork;

/// The version of a symbol that x86-64 has had since `version`.
pub const fn symbol_version(version: Option<&'static CStr>) -> Option<&'static CStr> {
    version
}
