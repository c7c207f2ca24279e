//! x86-64.

/// System calls that later machines do without.
pub use libc::{SYS_epoll_wait, SYS_pause, SYS_poll, SYS_select, SYS_vfork};

/// The structures of running threads are known, and how to unwind their stacks.
pub const KNOWS_THREADS: bool = true;
