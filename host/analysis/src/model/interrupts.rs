//! Deadlocks of a signal's handler with a thread that it did not interrupt in this run.
//!
//! The ledger records two things (the kernel's usage states, with a signal instead of an
//! interrupt). The handler of signal N acquired A. And a thread held B with N open: the program
//! handles N, and the thread does not block it. Nothing but time keeps N from arriving there; the
//! thread would then wait for A while holding B. So for each such pair the trie gets one more
//! context, "A is acquired while B is held", by the threads that held B. With it, the search for
//! cycles finds the kernel's safe -> unsafe orders and lock inversions, of any length and across
//! several signals. It grades them like other cycles.
//!
//! A lock that is on both sides needs no cycle: the analysis of signals reports it.

use std::collections::{BTreeMap, HashMap, HashSet};

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{Class, Node, Usage, lock_kind, usage};

use super::hand_overs;

/// Contexts added at most.
const MOST: usize = 1 << 20;

/// The contexts that were added.
#[derive(Default)]
pub(super) struct Interrupts {
    /// Id of the first of them.
    pub first: u32,
    /// Node and segment, as in the ledger's evidence.
    pub evidence: Vec<(u32, u32)>,
    /// There were more than could be added.
    pub cut: bool,
    /// By id from `first` on: the signal, 0 for a node that is only a step of a path.
    signals: Vec<u32>,
}

impl Interrupts {
    /// The signal whose handler acquires in context `id`.
    pub fn signal(&self, id: u32) -> Option<u32> {
        let at = id.checked_sub(self.first)?;
        self.signals.get(at as usize).copied().filter(|&signal| signal != 0)
    }
}

/// The records of one signal: holders with the signal open, and acquisitions in its handler.
#[derive(Default)]
struct Sides {
    open: Vec<Usage>,
    used_in: Vec<Usage>,
}

/// Adds the contexts behind the recorded ones.
pub(super) fn append(ledger: &Ledger, nodes: &mut Vec<Node>) -> Interrupts {
    let recorded = nodes.len() as u32;
    let mut signals: BTreeMap<u32, Sides> = BTreeMap::new();
    let no_locks = hand_overs::instances(ledger);
    for (_, row) in ledger.rows::<Usage>().filter(|(_, row)| !no_locks.contains(&row.inst)) {
        let known = nodes.get(row.node as usize).is_some_and(|node| node.class == row.class);
        if !known || row.signal == 0 {
            continue;
        }
        let sides = signals.entry(row.signal).or_default();
        match row.bits {
            usage::USED_IN | usage::USED_IN_READ => sides.used_in.push(row),
            usage::OPEN | usage::OPEN_READ => sides.open.push(row),
            _ => {}
        }
    }
    let mut added = Interrupts { first: recorded, ..Interrupts::default() };
    // Holders by context and instance; acquirers by holder, class, instance, site and mode.
    let mut held_ids: HashMap<(u32, u32), u32> = HashMap::new();
    for (&signal, sides) in signals.iter().filter(|(_, sides)| !sides.used_in.is_empty()) {
        let mut taken_ids: HashMap<(u32, u32, u32, u64, u16), u32> = HashMap::new();
        let alone = inconsistent_alone(ledger, sides);
        let taken: HashSet<u32> = sides.used_in.iter().map(|used| used.inst).collect();
        for open in sides.open.iter().filter(|row| !alone.contains(&row.inst)) {
            let mine = held_with(nodes, open, &taken);
            // What the thread holds itself closes no cycle with others.
            for used in sides.used_in.iter().filter(|used| !mine.contains(&used.inst)) {
                if added.evidence.len() >= MOST {
                    added.cut = true;
                    return added;
                }
                let holder = nodes[open.node as usize];
                let held = match holder.inst {
                    // A context of the class stands for the instance that was met.
                    0 => *held_ids.entry((open.node, open.inst)).or_insert_with(|| {
                        let exact = Node { inst: open.inst, lock: 0, ..holder };
                        added.push(nodes, exact, 0)
                    }),
                    _ => open.node,
                };
                let taker = nodes[used.node as usize];
                let key = (held, used.class, used.inst, taker.site, taker.mode);
                let id = *taken_ids.entry(key).or_insert_with(|| {
                    let taken = Node { parent: held, inst: used.inst, lock: 0, flags: 0, ..taker };
                    added.push(nodes, Node { folded: 0, ..taken }, signal)
                });
                added.evidence.push((id, open.segment));
            }
        }
    }
    added
}

impl Interrupts {
    fn push(&mut self, nodes: &mut Vec<Node>, node: Node, signal: u32) -> u32 {
        let id = nodes.len() as u32;
        nodes.push(node);
        self.signals.push(signal);
        id
    }
}

/// The locks of `locks` that were held when `open` was taken, and that one itself.
fn held_with(nodes: &[Node], open: &Usage, locks: &HashSet<u32>) -> HashSet<u32> {
    let mut held = HashSet::from([open.inst]);
    let mut at = open.node;
    while let Some(node) = nodes.get(at as usize) {
        if locks.contains(&node.inst) {
            held.insert(node.inst);
        }
        // A sound ledger's parents have smaller ids; so this ends on any.
        if node.parent >= at {
            break;
        }
        at = node.parent;
    }
    held.remove(&0);
    held
}

/// Locks that are on both sides and make their holder wait for ever: the cure of that, blocking the
/// signal around them, is also that of every order which leads to them.
fn inconsistent_alone(ledger: &Ledger, sides: &Sides) -> HashSet<u32> {
    let mut open: HashMap<u32, u32> = HashMap::new();
    for row in &sides.open {
        *open.entry(row.inst).or_default() |= row.bits;
    }
    let mut alone = HashSet::new();
    for used in sides.used_in.iter().filter(|used| used.inst != 0) {
        let kind = ledger.get::<Class>(used.class).map_or(0, |class| class.kind);
        // Others fail, or let their holder in again.
        let waits = |open: &u32| match kind {
            lock_kind::RECURSIVE | lock_kind::ERRORCHECK => false,
            lock_kind::RWLOCK | lock_kind::RWLOCK_WRITER => {
                open & usage::OPEN_READ != 0 && used.bits == usage::USED_IN
            }
            _ => true,
        };
        if open.get(&used.inst).is_some_and(waits) {
            alone.insert(used.inst);
        }
    }
    alone
}
