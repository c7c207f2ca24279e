//! Programs that execute others through the C library's `syscall`. They do so for `execveat`, which
//! glibc has only since 2.34.

use core::ffi::{c_char, c_int, c_long};

use crate::interpose::execute;
use crate::libc::real::{self, Strings};

/// `syscall` with the number of `execve` or `execveat`.
///
/// # Safety
/// The program called `syscall` with the number and arguments of `execve` or `execveat`.
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn syscall_that_executes() -> c_long {
    code!(go, to = sym executes)
}

/// # Safety
/// The number and arguments of such a call, which are valid as far as there is memory.
unsafe extern "C-unwind" fn executes(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
) -> c_long {
    let (from, path, environment_at) = match number {
        libc::SYS_execve => (libc::AT_FDCWD, a, 2),
        _ => (a as c_int, b, 3),
    };
    let mut arguments = [a, b, c, d, e];
    let environment = arguments[environment_at] as Strings;
    let mut call = |environment: Strings| {
        arguments[environment_at] = environment as c_long;
        let [a, b, c, d, e] = arguments;
        // SAFETY: the caller promises such a call; the kernel does not look at arguments that the
        // call has not.
        unsafe { real::syscall(number, a, b, c, d, e, 0) as c_int }
    };
    // SAFETY: the caller promises such a call, and `at` reads its path and environment only where
    // there is memory.
    unsafe { execute::at(from, path as *const c_char, environment, &mut call) }.into()
}
