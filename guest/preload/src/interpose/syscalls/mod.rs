//! Calls into the kernel: futexes, `syscall`, `seccomp`, calls that may sleep, and waits for children.

pub mod children;
pub mod futex;
pub mod may_sleep;
pub mod seccomp;
pub mod syscall;
