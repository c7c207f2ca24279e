//! System calls, and versions of the C library's symbols.

use core::arch::asm;
use core::ffi::{CStr, c_long};

/// # Safety
/// The arguments are valid for the system call `n`: what it reads and writes is the caller's.
#[inline]
pub unsafe fn system_call(n: i64, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let ret: isize;
    // SAFETY: the Linux system call convention of this machine; the caller vouches for the arguments.
    unsafe {
        asm!("svc 0", in("x8") n, inlateout("x0") a => ret, in("x1") b, in("x2") c, in("x3") d,
             in("x4") e, in("x5") f, options(nostack));
    }
    ret
}

/// The number of `futex`, as /proc has it.
pub const FUTEX_DIGITS: &[u8] = b"98";

/// The call that forks, and its first argument: there is no number for it alone.
pub const FORK: (c_long, usize) = (libc::SYS_clone, libc::SIGCHLD as usize);

/// The number of the call that forks and does nothing else, if there is one; else that of another that forks.
pub const SYS_FORK: c_long = libc::SYS_clone;

/// The version of a symbol that x86-64 has had since `version`: what is older than the machine has the first version there.
pub const fn symbol_version(version: Option<&'static CStr>) -> Option<&'static CStr> {
    match version {
        Some(_) => Some(c"GLIBC_2.17"),
        None => None,
    }
}
