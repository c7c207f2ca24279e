//! Processes that are looked at from outside: that hang already, or whose waits the kernel tells.

pub mod attach;
pub mod by_kernel;
pub mod futex_calls;
pub mod traced;
