//! What depends on the machine: nothing else in this crate names one.

/// A flag of open(2): a symbolic link is an error.
pub const O_NOFOLLOW: i32 = if cfg!(target_arch = "aarch64") { 0o100_000 } else { 0o400_000 };
