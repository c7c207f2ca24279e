//! What depends on the machine: nothing else in this crate names one.

/// Bytes of an object, of which 64-bit Arm's may be another number.
pub const fn bytes(usual: usize, of_aarch64: &[usize]) -> usize {
    match of_aarch64 {
        [bytes] if cfg!(target_arch = "aarch64") => *bytes,
        _ => usual,
    }
}

/// The word of a spinlock that is free.
pub const SPIN_FREE: u32 = if cfg!(target_arch = "aarch64") { 0 } else { 1 };
