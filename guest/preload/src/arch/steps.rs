//! How the step from a frame to its caller's is written down: what all machines have in common.

/// Where the caller's fp is: unchanged, or saved at CFA + offset (or fp + offset).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    Same,
    AtCfa(i16),
    AtFp(i16),
}

/// The variants of a machine's `Rule`, packed.
pub mod kind {
    pub const END: u64 = 0;
    pub const SP: u64 = 1;
    pub const FP: u64 = 2;
    pub const FP_DEREF: u64 = 3;
}

/// [`Saved`]'s variants, packed.
pub mod place {
    pub const SAME: u64 = 0;
    pub const AT_CFA: u64 = 1;
    pub const AT_FP: u64 = 2;
}
