//! `syscall`: which numbers are looked at, by one table. All others are forwarded by a test of one
//! byte.

use core::ffi::c_long;

use crate::arch::SYS_FORK;
use crate::interpose::{bare_execute, bare_fork, futex, seccomp};
use crate::libc::real;

/// Numbers that the table has room for.
const NUMBERS: usize = 512;

/// Where calls go, by [`ROUTES`]' bytes less 1.
type Stub = unsafe extern "C-unwind" fn() -> c_long;

/// The numbers that are looked at, and by what.
macro_rules! routes {
    ($($number:expr => $to:path;)*) => {
        const LOOKED_AT: &[c_long] = &[$($number),*];
        static STUBS: [Stub; LOOKED_AT.len()] = [$($to),*];
    };
}

routes! {
    SYS_FORK => bare_fork::syscall_that_forks;
    libc::SYS_clone => bare_fork::syscall_that_forks;
    libc::SYS_clone3 => bare_fork::syscall_that_forks;
    libc::SYS_execve => bare_execute::syscall_that_executes;
    libc::SYS_execveat => bare_execute::syscall_that_executes;
    libc::SYS_prctl => seccomp::syscall_that_restricts;
    libc::SYS_seccomp => seccomp::syscall_that_restricts;
    libc::SYS_futex => futex::syscall_futex;
    futex::SYS_FUTEX_WAITV => futex::syscall_futex_waitv;
    futex::SYS_FUTEX_WAKE => futex::syscall_futex_wake;
    futex::SYS_FUTEX_WAIT => futex::syscall_futex_wait;
    futex::SYS_FUTEX_REQUEUE => futex::syscall_futex_requeue;
}

/// For each number 0, or which of [`STUBS`], counted from 1.
static ROUTES: [u8; NUMBERS] = {
    let mut routes = [0; NUMBERS];
    let mut i = 0;
    while i < LOOKED_AT.len() {
        routes[LOOKED_AT[i] as usize] = i as u8 + 1;
        i += 1;
    }
    routes
};

/// Stands in front of the C library's `syscall`.
///
/// # Safety
/// As the function itself.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall() -> c_long {
    code!(
        by_number,
        numbers = const NUMBERS,
        routes = sym ROUTES,
        stubs = sym STUBS,
        next = sym real::slot::syscall,
    )
}
