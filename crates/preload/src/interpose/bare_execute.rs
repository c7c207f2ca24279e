//! Programs that are executed by the C library's `syscall`: as those do that have no `execveat`,
//! which glibc has since 2.34.

use core::arch::naked_asm;
use core::ffi::{c_char, c_int, c_long};

use super::execute;
use crate::libc::real::{self, Strings};

/// `syscall` with the number of `execve` or `execveat`.
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn syscall_that_executes() -> c_long {
    naked_asm!("jmp {to}", to = sym executes)
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
    // SAFETY: the caller's promise; the kernel does not look at arguments that the call has not.
    unsafe {
        if number == libc::SYS_execve {
            return execute::at(
                libc::AT_FDCWD,
                a as *const c_char,
                c as Strings,
                &mut |environment| {
                    real::syscall(number, a, b, environment as c_long, 0, 0, 0) as c_int
                },
            )
            .into();
        }
        execute::at(a as c_int, b as *const c_char, d as Strings, &mut |environment| {
            real::syscall(number, a, b, c, environment as c_long, e, 0) as c_int
        })
        .into()
    }
}
