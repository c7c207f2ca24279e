//! The nodes in which the CPUs queue for qspinlocks (`kernel/locking/qspinlock.c`): four of each
//! CPU, as a waiter can be interrupted, and its interrupt's handler wait for another lock, and so
//! on for the kernel's four contexts: task, soft interrupt, hard interrupt, non-maskable interrupt.
//! In user space these are signal handlers.
//!
//! A node is in use from the slow path's beginning to its end; a holder needs none.
//!
//! ```text
//!   tail  bits 16-17  the index of the node among its CPU's
//!         bits 18-31  the number of the CPU, plus 1; 0 no node
//! ```

mod nodes;

use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::compiler_fence;

use crate::event::Event;
use crate::platform::{Atomic, Platform};
use nodes::NODES;
pub use nodes::{Node, Nodes};

const INDEX_SHIFT: u32 = 16;
const CPU_SHIFT: u32 = 18;

/// CPUs beyond this have no nodes, as the tail has no place for their number.
const CPUS: u32 = (1 << (32 - CPU_SHIFT)) - 1;

/// The events of the second node and on.
const MORE_NODES: [Event; NODES as usize - 1] =
    [Event::LockUseNode2, Event::LockUseNode3, Event::LockUseNode4];

const fn index(tail: u32) -> usize {
    ((tail >> INDEX_SHIFT) & (NODES - 1)) as usize
}

#[inline]
fn nodes<P: Platform>(tail: u32) -> &'static Nodes<P::Word, P::Long> {
    &P::per_cpu((tail >> CPU_SHIFT) - 1).qnodes
}

/// The node that a tail names, which is not 0.
#[inline]
pub(crate) fn node<P: Platform>(tail: u32) -> &'static Node<P::Word> {
    &nodes::<P>(tail).nodes[index(tail)]
}

/// Where the record is of the waiter in the node that a tail names, which is not 0; see
/// [`Place::set_record`].
#[inline]
pub(crate) fn record<P: Platform, T>(tail: u32) -> *const T {
    // Relaxed: the lock that the record's list is under orders it.
    let address = nodes::<P>(tail).records[index(tail)].load(Relaxed);
    core::ptr::with_exposed_provenance(address)
}

/// A node in use, until dropped.
pub struct Place<P: Platform> {
    /// The tail that names it.
    pub tail: u32,
    nodes: &'static Nodes<P::Word, P::Long>,
}

impl<P: Platform> Place<P> {
    /// None: this CPU has none left, or no number.
    #[inline]
    pub fn claim() -> Option<Self> {
        let cpu = P::cpu().filter(|cpu| *cpu < CPUS)?;
        let nodes = &P::per_cpu(cpu).qnodes;
        // Relaxed: only this CPU's own.
        let index = nodes.used.load(Relaxed);
        if index >= NODES {
            return None;
        }
        nodes.used.store(index + 1, Relaxed);
        // A handler that comes from here on finds the node in use.
        compiler_fence(SeqCst);
        if index > 0 {
            P::count(MORE_NODES[index as usize - 1], 1);
        }
        Some(Self { tail: ((cpu + 1) << CPU_SHIFT) | (index << INDEX_SHIFT), nodes })
    }

    /// The node.
    #[inline]
    pub fn node(&self) -> &'static Node<P::Word> {
        &self.nodes.nodes[index(self.tail)]
    }

    /// Says where the waiter's record is, before it is put in a list.
    pub fn set_record<T>(&self, record: &T) {
        let address = core::ptr::from_ref(record).expose_provenance();
        // Relaxed: as in `record`.
        self.nodes.records[index(self.tail)].store(address, Relaxed);
    }

    /// Whether it is in the handler of a signal that has interrupted another wait.
    pub const fn is_nested(&self) -> bool {
        index(self.tail) > 0
    }
}

impl<P: Platform> Drop for Place<P> {
    #[inline]
    fn drop(&mut self) {
        // Until here a handler must not use it.
        compiler_fence(SeqCst);
        // Relaxed: as in `claim`.
        self.nodes.used.store(index(self.tail) as u32, Relaxed);
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::vec::Vec;

    use super::*;
    use crate::platform::linux::Linux;

    #[test]
    fn nested_waiters_have_nodes_of_their_own() {
        let places: Vec<_> = (0..NODES).map(|_| Place::<Linux>::claim().unwrap()).collect();
        assert!(Place::<Linux>::claim().is_none(), "no fifth one");
        for (index, place) in places.iter().enumerate() {
            assert!(core::ptr::eq(place.node(), node::<Linux>(place.tail)));
            assert!(places[..index].iter().all(|other| other.tail != place.tail));
        }
        places.into_iter().rev().for_each(drop);
        assert!(Place::<Linux>::claim().is_some());
    }
}
