//! How many records go where.

/// Records that are moved at once.
pub(crate) const BATCH: u32 = 16;
/// Most records of a thread's pool.
pub(crate) const LOCAL: u32 = 64;
/// Most records of the global pool, and what it begins with.
pub(crate) const POOL_SIZE: u32 = 1024;
/// It is filled up to this.
pub(crate) const MIN_LEVEL: u32 = 256;
/// Most records given back to the slab at a time.
pub(crate) const FREE_MAX: u32 = 1024;
/// They are given back at most once in so many nanoseconds: ten times a second.
pub(crate) const FREE_EVERY: u64 = 100_000_000;
