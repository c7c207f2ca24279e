//! Dependencies between lock classes, and what signals mean to the classes.

use std::collections::{BTreeMap, BTreeSet};

use lockwright_ledger::rows::{Usage, mode, usage};

use crate::model::Model;

/// What is known of the classes of one process. Classes are merged ones.
pub struct Dependencies {
    /// What is acquired while a class is held, as the kernel keeps it: a dependency on a lock
    /// further out is left out where one between implies it.
    pub direct: BTreeMap<u32, BTreeSet<u32>>,
    /// By class and signal: [`usage`] bits.
    pub usage: BTreeMap<u32, BTreeMap<u32, u32>>,
    /// Classes of which a lock was acquired.
    pub used: BTreeSet<u32>,
}

impl Dependencies {
    /// Those of a process.
    pub fn new(model: &Model<'_>) -> Self {
        let group = |class| model.classes.group_of(class);
        let mut direct: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for (id, node) in model.trie.contexts() {
            for (_, held) in model.trie.held(id) {
                direct.entry(group(held.class)).or_default().insert(group(node.class));
                // A waiter for a lock that was taken by trylock does not wait for the locks
                // outside.
                if held.mode & mode::TRY == 0 {
                    break;
                }
            }
        }
        let mut by_class: BTreeMap<u32, BTreeMap<u32, u32>> = BTreeMap::new();
        for (_, row) in model.ledger.rows::<Usage>() {
            *by_class.entry(group(row.class)).or_default().entry(row.signal).or_default() |=
                row.bits;
        }
        let nodes = (1..model.trie.len()).filter_map(|id| model.trie.node(id));
        let used = nodes.map(|node| group(node.class)).filter(|&group| group != 0).collect();
        Self { direct, usage: by_class, used }
    }

    /// Pairs, outer class first.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        self.direct.iter().flat_map(|(&from, to)| to.iter().map(move |&to| (from, to)))
    }

    /// The dependencies turned round.
    pub fn reversed(&self) -> BTreeMap<u32, BTreeSet<u32>> {
        let mut reversed: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for (from, to) in self.pairs() {
            reversed.entry(to).or_default().insert(from);
        }
        reversed
    }

    /// Whether a class has one of `bits` for some signal.
    pub fn has(&self, class: u32, bits: u32) -> bool {
        self.usage.get(&class).is_some_and(|signals| signals.values().any(|own| own & bits != 0))
    }
}

/// Used in the handler, whichever way; and likewise with the signal open.
pub const IN: u32 = usage::USED_IN | usage::USED_IN_READ;
/// See [`IN`].
pub const OPEN: u32 = usage::OPEN | usage::OPEN_READ;
