//! A CPU's nodes, which the tails of locks name.

use crate::platform::{Atomic, Word};

/// No record.
const NOTHING: usize = 0;

/// Nodes of a CPU.
pub(super) const NODES: u32 = 4;

/// A place in a queue.
pub struct Node<W> {
    /// The tail that is the follower.
    pub next: W,
    /// 1 once it is the head of the queue.
    pub locked: W,
    /// Paravirtual locks only: what the waiter does.
    pub state: W,
    /// Paravirtual locks only: not 0 once the waiter has been kicked.
    pub kick: W,
}

/// A CPU's nodes.
#[repr(align(64))]
pub struct Nodes<W, L> {
    pub(super) nodes: [Node<W>; NODES as usize],
    /// For locks whose waiters have records elsewhere: where that of the node's waiter is.
    pub(super) records: [L; NODES as usize],
    /// How many are in use: the first ones, as handlers end before what they have interrupted goes
    /// on.
    pub(super) used: W,
}

impl<W: Word, L: Atomic<usize>> Nodes<W, L> {
    pub(crate) fn new() -> Self {
        let zero = || W::new(0);
        let node = |_| Node { next: zero(), locked: zero(), state: zero(), kick: zero() };
        Self {
            nodes: core::array::from_fn(node),
            records: core::array::from_fn(|_| L::new(NOTHING)),
            used: zero(),
        }
    }
}
