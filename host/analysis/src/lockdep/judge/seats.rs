//! Semaphores that begin above 1, each of which is held by so many threads at most: steps of a cycle that all hold one, and are
//! more than that, are not taken at once. (The philosophers' footman.) Each must have taken it before the lock that the cycle
//! has it hold: otherwise a thread can hold that lock and wait for the semaphore, which ends no better.

use std::collections::HashMap;

use lockwright_ledger::rows::{Class, Node, lock_kind};

use crate::model::Model;
use crate::view::occurrence::Context;

/// A semaphore that has not enough seats for the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seats {
    /// The semaphore: a node of it in one of the steps.
    pub node: u32,
    /// How many threads can hold it.
    pub seats: u32,
}

/// What a step has taken before the lock that it holds: the node on whose path that is. A writer that comes between two readers
/// holds no lock of the cycle, and may have taken the semaphore at any time.
pub fn step(model: &Model<'_>, context: Context) -> u32 {
    let held = model.trie.node(context.held);
    let is_lock = |node: &Node| model.classes.kind(node.class) != lock_kind::COUNTING;
    if held.is_some_and(is_lock) { context.held } else { context.acquired }
}

/// A semaphore of which too many different threads have a seat, by the paths to these nodes.
pub fn too_few(model: &Model<'_>, nodes: impl Iterator<Item = u32>) -> Option<Seats> {
    if !model.classes.has_counting() {
        return None;
    }
    let mut taken: HashMap<u32, (u32, u32, u32)> = HashMap::new();
    for (step, node) in (1..).zip(nodes) {
        for (id, node) in model.trie.held(node) {
            if node.inst == 0 || model.classes.kind(node.class) != lock_kind::COUNTING {
                continue;
            }
            let seats = model.ledger.get::<Class>(node.class).map_or(0, |class| class.seats);
            let (_, count, last) = taken.entry(node.inst).or_insert((id, 0, 0));
            if *last != step {
                (*count, *last) = (*count + 1, step);
            }
            if seats != 0 && *count > seats {
                return Some(Seats { node: id, seats });
            }
        }
    }
    None
}
