//! Semaphores that counted as locks until they were used as none ([`lock_flag::HANDED_OVER`]):
//! contexts are made as if they had never been taken.

use std::collections::HashSet;

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{Class, Lock, Node, lock_flag, lock_kind, node_flag};

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
        .filter(|(_, class)| class.handed_over != 0 && class.kind != lock_kind::MONITOR)
        .map(|(id, _)| id)
        .collect();
    if mixed.is_empty() {
        return;
    }
    let no_locks = instances(ledger);
    take_out(nodes, |node| {
        let is_folded = node.inst == 0 && node.parent != 0;
        mixed.contains(&node.class) && (no_locks.contains(&node.inst) || is_folded)
    });
}

/// Takes nodes out of all paths.
pub(super) fn take_out(nodes: &mut [Node], is_out: impl Fn(&Node) -> bool) {
    let out: Vec<bool> = nodes.iter().map(is_out).collect();
    let before: Vec<u32> = nodes.iter().map(|node| node.parent).collect();
    // By id: what stands in its place as a parent, and whether that leaves a path incomplete.
    let mut stands_for: Vec<(u32, u16)> = (0..nodes.len() as u32).map(|id| (id, 0)).collect();
    for id in 1..nodes.len() {
        let Node { parent, flags, .. } = nodes[id];
        // A sound ledger's parents have smaller ids; others are cut off later.
        if (parent as usize) < id {
            let (outer, cut) = stands_for[parent as usize];
            nodes[id].parent = outer;
            nodes[id].flags = still_new(id, flags, &before, &out) | cut;
        }
        if out[id] {
            let cut = (flags | nodes[id].flags) & node_flag::TRUNCATED;
            stands_for[id] = (nodes[id].parent, cut);
            nodes[id] = Node::default();
        }
    }
}

/// The flags of a node, whose path had these parents before some were taken out.
fn still_new(id: usize, flags: u16, parents: &[u32], out: &[bool]) -> u16 {
    if flags < node_flag::NEW {
        return flags;
    }
    let (mut new, mut place, mut at) = (flags % node_flag::NEW, 0, id);
    for k in 0..node_flag::NEWS {
        let parent = parents[at] as usize;
        if parent == 0 || parent >= at {
            break;
        }
        at = parent;
        if !out[at] {
            new |= (flags >> k & node_flag::NEW) << place;
            place += 1;
        }
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path of so many nodes, innermost last, of which the innermost has these locks further out new.
    fn path(len: u32, new: u16) -> Vec<Node> {
        let node = |id: u32| Node { state: 1, parent: id - 1, class: id, ..Node::default() };
        let mut nodes: Vec<Node> = (1..=len).map(node).collect();
        nodes[len as usize - 1].flags = new * node_flag::NEW;
        [vec![Node::default()], nodes].concat()
    }

    #[test]
    fn new_locks_stay_new_where_others_are_taken_out() {
        // The lock next to the innermost is of class 3, and new; so is that of class 1.
        let mut nodes = path(4, 0b101);
        take_out(&mut nodes, |node| node.class == 2);
        assert_eq!(nodes[4].flags, 0b11 * node_flag::NEW);
        assert_eq!((nodes[4].parent, nodes[3].parent), (3, 1));

        let mut nodes = path(4, 0b101);
        take_out(&mut nodes, |node| node.class == 3);
        assert_eq!(nodes[4].flags, 0b10 * node_flag::NEW);
        assert_eq!(nodes[4].parent, 2);
    }
}
