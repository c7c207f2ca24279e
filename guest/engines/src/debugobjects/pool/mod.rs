//! Where trackers' records come from: threads' pools, the global pool, the slab.
//!
//! ```text
//!   thread's pool (64) <--- 16 ---> global pool (1,024) <--- 16 --- slab <--- mappings
//!                       \                                            ^
//!                        `---- 16 ---> to be freed ---- <= 1,024 ----'
//! ```

mod global;
mod record;
mod refill;
pub(super) mod slab;
mod source;
pub(super) mod stack;
mod switches;
#[cfg(test)]
mod tests;
mod threads;
mod usage;

pub(super) use self::global::Pools;
pub use self::source::{Source, YIELDS};
pub use self::switches::Switches;

use super::lock::Patience;

/// Records that are moved at once.
pub(super) const BATCH: u32 = 16;
/// Most records of a thread's pool.
pub(super) const LOCAL: u32 = 64;
/// Most records of the global pool, and what it begins with.
pub(super) const POOL_SIZE: u32 = 1024;
/// It is filled up to this.
pub(super) const MIN_LEVEL: u32 = 256;
/// Most records given back to the slab at a time.
pub(super) const FREE_MAX: u32 = 1024;
/// They are given back at most once in so many nanoseconds: ten times a second.
pub(super) const FREE_EVERY: u64 = 100_000_000;

/// Why an operation cannot be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The source has no memory.
    NoMemory,
    /// A lock cannot be taken.
    Stuck,
}

/// What an operation works with.
#[derive(Clone, Copy)]
pub(super) struct Env {
    pub source: &'static Source,
    pub switches: Switches,
    pub patience: Patience,
}
