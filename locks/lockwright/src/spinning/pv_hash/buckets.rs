//! A CPU's part of the table.

use crate::platform::{Atomic, Word};

/// Buckets of a CPU.
pub(super) const BUCKETS: usize = 4;

/// No lock: its address.
pub(super) const FREE: usize = 0;

/// A lock and the tail that names the node of the head of its queue.
pub(crate) struct Bucket<W, L> {
    pub(super) lock: L,
    pub(super) tail: W,
}

/// A CPU's part of the table: a cache line.
#[repr(align(64))]
pub(crate) struct Buckets<W, L>(pub(super) [Bucket<W, L>; BUCKETS]);

impl<W: Word, L: Atomic<usize>> Buckets<W, L> {
    pub(crate) fn new() -> Self {
        Self(core::array::from_fn(|_| Bucket { lock: L::new(FREE), tail: W::new(0) }))
    }
}
