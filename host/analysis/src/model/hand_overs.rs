//! Semaphores that counted as locks until they were used as none ([`lock_flag::HANDED_OVER`]):
//! contexts are made as if they had never been taken.

use std::collections::HashSet;

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{Class, Lock, Node, lock_flag, node_flag};

/// Their instances.
pub(super) fn instances(ledger: &Ledger) -> HashSet<u32> {
    ledger
        .rows::<Lock>()
        .filter(|(_, lock)| lock.flags & lock_flag::HANDED_OVER != 0)
        .map(|(_, lock)| lock.inst)
        .collect()
}

/// Takes them out of all paths. Nodes keep their ids, those that are left out are not there any
/// more.
pub(super) fn leave_out(ledger: &Ledger, nodes: &mut [Node]) {
    // If a pair was folded into its classes, its semaphore is unknown.
    let mixed: HashSet<u32> = ledger
        .rows::<Class>()
        .filter(|(_, class)| class.handed_over != 0)
        .map(|(id, _)| id)
        .collect();
    if mixed.is_empty() {
        return;
    }
    let no_locks = instances(ledger);
    // By id: what stands in its place as a parent, and whether that leaves a path incomplete.
    let mut stands_for: Vec<(u32, u16)> = (0..nodes.len() as u32).map(|id| (id, 0)).collect();
    for id in 1..nodes.len() {
        let Node { parent, class, inst, flags, .. } = nodes[id];
        // A sound ledger's parents have smaller ids; others are cut off later.
        if (parent as usize) < id {
            let (outer, cut) = stands_for[parent as usize];
            nodes[id].parent = outer;
            nodes[id].flags |= cut;
        }
        let is_folded = inst == 0 && parent != 0;
        if mixed.contains(&class) && (no_locks.contains(&inst) || is_folded) {
            let cut = (flags | nodes[id].flags) & node_flag::TRUNCATED;
            stands_for[id] = (nodes[id].parent, cut);
            nodes[id] = Node::default();
        }
    }
}
