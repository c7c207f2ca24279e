//! Calls into the kernel: futexes, `syscall`, `seccomp`, and calls that may sleep.

pub mod futex;
pub mod may_sleep;
pub mod seccomp;
pub mod syscall;
