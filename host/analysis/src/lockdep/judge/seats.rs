//! Semaphores that begin above 1, each of which is held by so many threads at most: steps of a cycle that all hold one, and are
//! more than that, are not taken at once. (The philosophers' footman.)

use std::collections::HashMap;

use lockwright_ledger::rows::{Class, lock_kind};

use crate::model::Model;

/// A semaphore that has not enough seats for the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seats {
    /// The semaphore: a node of it in one of the steps.
    pub node: u32,
    /// How many threads can hold it.
    pub seats: u32,
}

/// A semaphore of which too many of the contexts have a seat. `acquired` has what is acquired in each, by another thread.
pub fn too_few(model: &Model<'_>, acquired: impl Iterator<Item = u32>) -> Option<Seats> {
    if !model.classes.has_counting() {
        return None;
    }
    let mut taken: HashMap<u32, (u32, u32, u32)> = HashMap::new();
    for (step, context) in (1..).zip(acquired) {
        for (id, node) in model.trie.held(context) {
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
