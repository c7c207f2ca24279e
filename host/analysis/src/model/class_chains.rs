//! Chains of lock classes, as the kernel counts them in /proc/lockdep_stats and lists them in
//! /proc/lockdep_chains: which classes a thread held, outermost first, when it acquired another.
//!
//! The ledger's contexts are finer, as they differ by lock and by place. Contexts of the same classes,
//! held the same way (to read or not), are one chain here. One lock held alone is a chain as well.
//! A signal's handler begins a chain of its own, as a hard interrupt does there.

use std::collections::{HashMap, HashSet};

use lockwright_ledger::rows::{Node, node_flag};

use super::{Model, is_read};

/// One of them.
#[derive(Debug)]
pub struct ClassChain {
    /// Contexts that it stands for, by id; at least one.
    pub contexts: Vec<u32>,
    /// Locks in it.
    pub depth: u64,
    /// It is a signal handler's.
    pub is_in_handler: bool,
}

/// What tells a chain from others that continue the same one.
#[derive(PartialEq, Eq, Hash)]
struct Step {
    /// The chain that it continues, as an index and one; 0: it begins here.
    continued: u32,
    class: u32,
    is_read: bool,
    of_handler: bool,
}

/// All chains of a process, in the order in which they were first recorded.
pub fn class_chains(model: &Model<'_>) -> Vec<ClassChain> {
    let trie = &model.trie;
    let mut chains: Vec<ClassChain> = Vec::new();
    let mut known: HashMap<Step, u32> = HashMap::new();
    let in_handlers: HashSet<_> = (1..trie.recorded())
        .filter_map(|id| trie.node(id))
        .filter(|node| node.flags & node_flag::IN_HANDLER != 0)
        .map(lock_in_context)
        .collect();
    // What a handler holds has a context without the flag as well, which nobody acquired it in: a
    // step to what the handler takes within it.
    let is_in_handler = |id: u32, node: &Node| {
        let is_step = || trie.segments(id).is_empty() && node.folded == 0;
        node.flags & node_flag::IN_HANDLER != 0
            || in_handlers.contains(&lock_in_context(node)) && is_step()
    };
    // By id of a context: its chain, as an index and one.
    let mut chain_of = vec![0u32; trie.recorded() as usize];
    for id in 1..trie.recorded() {
        let Some(node) = trie.node(id) else { continue };
        // Parents have smaller ids.
        let parent = chain_of.get(node.parent as usize).copied().unwrap_or(0);
        if node.class == 0 {
            // A wait for something that is no lock: what is acquired in it continues the chain.
            chain_of[id as usize] = parent;
            continue;
        }
        let of_handler = is_in_handler(id, node);
        let outer = (parent as usize).checked_sub(1).map(|at| &chains[at]);
        let outer = outer.filter(|outer| outer.is_in_handler || !of_handler);
        let depth = outer.map_or(0, |outer| outer.depth) + 1;
        let continued = if outer.is_some() { parent } else { 0 };
        let class = model.classes.group_of(node.class);
        let step = Step { continued, class, is_read: is_read(node.mode), of_handler };
        let chain = *known.entry(step).or_insert_with(|| {
            chains.push(ClassChain { contexts: Vec::new(), depth, is_in_handler: of_handler });
            chains.len() as u32
        });
        chain_of[id as usize] = chain;
        chains[chain as usize - 1].contexts.push(id);
    }
    chains
}

/// What two contexts of one lock in one context share.
fn lock_in_context(node: &Node) -> (u32, u32, u32, u16) {
    (node.parent, node.class, node.inst, node.mode)
}
