//! Classes and dependencies as data: what formats draw and list.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::mode;

use super::process::{Process, processes};
use lockwright_analysis::class_ops::class_ops;
use lockwright_analysis::finding::lock_kind::LockKind;
use lockwright_analysis::finding::{Frame, Name};
use lockwright_analysis::lockdep::{CyclicPair, cyclic_pairs};
use lockwright_analysis::model::{Sources, Symbolise};
use lockwright_analysis::symbolize::wrapper::own_frames;

/// The lock classes of one process, and the order in which they are taken.
#[derive(Clone, Debug, Default)]
pub struct LockGraph {
    /// Its place among the ledgers.
    pub process: usize,
    /// Process id and program.
    pub title: String,
    /// Classes of which a lock was acquired.
    pub classes: Vec<LockClass>,
    /// Dependencies between them, those on a cycle first.
    pub edges: Vec<Dependency>,
}

/// A lock class.
#[derive(Clone, Debug)]
pub struct LockClass {
    /// Its name.
    pub name: Name,
    /// The kind of its locks.
    pub kind: &'static str,
    /// Where it was created, from the first frame of the program's own code on; empty for static
    /// locks.
    pub created: Rc<[Frame]>,
    /// Its locks.
    pub locks: u64,
    /// Acquisitions, where they were counted by class.
    pub acquisitions: Option<u64>,
}

/// A lock of one class was acquired while one of another was held.
#[derive(Clone, Debug)]
pub struct Dependency {
    /// The class held: index into [`LockGraph::classes`].
    pub held: usize,
    /// The class acquired, likewise.
    pub acquired: usize,
    /// The cycle that it lies on, if any, as far as it is known.
    pub cycle: Option<CyclicPair>,
    /// Where the held lock was taken the first time it was seen, innermost own frame first.
    pub held_at: Rc<[Frame]>,
    /// Where the other was acquired then.
    pub acquired_at: Rc<[Frame]>,
}

/// The graph of each process that has locks, with names from `symbols[i]` for `ledgers[i]`.
pub fn lock_graphs(ledgers: &[Ledger], symbols: &[&dyn Symbolise]) -> Vec<LockGraph> {
    let sources = Sources::new(ledgers, symbols);
    let graphs = processes(&sources, ledgers.len()).iter().map(one).collect::<Vec<_>>();
    graphs.into_iter().filter(|graph| !graph.classes.is_empty()).collect()
}

fn one(process: &Process<'_>) -> LockGraph {
    let Process { model, dependencies, .. } = process;
    let mut pairs: BTreeMap<(u32, u32), Option<CyclicPair>> =
        dependencies.pairs().map(|pair| (pair, None)).collect();
    pairs.extend(cyclic_pairs(model).into_iter().map(|(pair, cycle)| (pair, Some(cycle))));
    let mut used: BTreeSet<u32> = dependencies.used.clone();
    used.extend(pairs.keys().flat_map(|&(held, acquired)| [held, acquired]));
    let numbers: BTreeMap<u32, usize> = used.iter().copied().zip(0..).collect();
    let ops = class_ops(model);
    // Many locks are created, and taken, at few places.
    let known: RefCell<HashMap<u32, Rc<[Frame]>>> = RefCell::default();
    let frames = |stack: u32| match stack {
        0 => Rc::default(),
        stack => {
            let own = || own_frames(&model.stack(stack)).into();
            Rc::clone(known.borrow_mut().entry(stack).or_insert_with(own))
        }
    };
    let class = |&id: &u32| {
        let group = model.classes.group(id);
        LockClass {
            name: group.name(),
            kind: LockKind::of(group.kind).name(),
            // Where a parent process created it, its own stacks are not ours to number.
            created: if group.is_static { Rc::default() } else { frames(own_stack(process, id)) },
            locks: group.locks,
            acquisitions: ops.as_ref().map(|ops| ops.get(&id).copied().unwrap_or(0)),
        }
    };
    let examples = examples(process, &pairs);
    let mut edges: Vec<Dependency> = pairs
        .into_iter()
        .map(|(pair, cycle)| {
            let (held_at, acquired_at) = examples.get(&pair).copied().unwrap_or_default();
            Dependency {
                held: numbers[&pair.0],
                acquired: numbers[&pair.1],
                cycle,
                held_at: frames(held_at),
                acquired_at: frames(acquired_at),
            }
        })
        .collect();
    edges.sort_by_key(|edge| (edge.cycle.is_none(), edge.held, edge.acquired));
    LockGraph {
        process: process.index,
        title: process.title(),
        classes: used.iter().map(class).collect(),
        edges,
    }
}

/// The stack at which a class was created, if that is of the process itself; 0 else.
fn own_stack(process: &Process<'_>, class: u32) -> u32 {
    let (ledger, stack) = process.model.classes.plain(class).created;
    if ledger == process.index { stack } else { 0 }
}

/// Stacks at which each of `pairs` was seen first: of the lock held, and of the one acquired.
fn examples(
    process: &Process<'_>,
    pairs: &BTreeMap<(u32, u32), Option<CyclicPair>>,
) -> BTreeMap<(u32, u32), (u32, u32)> {
    let model = &process.model;
    let group = |class| model.classes.group_of(class);
    let on_cycles: BTreeSet<u32> =
        pairs.iter().filter(|(_, cycle)| cycle.is_some()).map(|((_, to), _)| *to).collect();
    let mut examples = BTreeMap::new();
    for (id, node) in model.trie.contexts() {
        let acquired = group(node.class);
        for (_, held) in model.trie.held(id) {
            let pair = (group(held.class), acquired);
            if pairs.contains_key(&pair) {
                examples.entry(pair).or_insert((held.stack, node.stack));
            }
            // A pair further out is only listed if it is on a cycle.
            if held.mode & mode::TRY == 0 && !on_cycles.contains(&acquired) {
                break;
            }
        }
    }
    examples
}
