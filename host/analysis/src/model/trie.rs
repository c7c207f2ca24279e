//! The trie of acquisition contexts, and who took each of them.

use std::collections::{HashMap, HashSet};

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{Class, Evidence, Lock, Node, mode, node_flag};

use super::hand_overs;
use super::interrupts::{self, Interrupts};
use super::is_read;
use super::thread_ends::{self, ThreadEnds};
use super::{Symbolise, monitors, tried_first};

/// The contexts of one process: those recorded, and behind them those of waits behind tries that did not fail
/// ([`super::tried_first`]), those that a signal handler would add ([`super::interrupts`]), and those that make joins dependencies ([`super::thread_ends`]).
pub struct Trie {
    /// By id; a row that is not there has state 0.
    nodes: Vec<Node>,
    /// Number of ids that the ledger has, 0 included.
    recorded: u32,
    /// By id: hash of the set of locks on the path, the node's own included.
    sets: Vec<u64>,
    /// By id: the path is known not to name all locks that were held.
    cut: Vec<bool>,
    /// By id: the outermost of the nodes of its class that follow each other on the path up to it.
    runs: Vec<u32>,
    /// By id, one more at the end: where its evidence begins in `segments`.
    first: Vec<u32>,
    segments: Vec<u32>,
    /// Classes of which a lock was taken for writing.
    written: HashSet<u32>,
    /// Classes that are no monitors, which they were recorded for.
    no_monitors: HashSet<u32>,
    interrupts: Interrupts,
    thread_ends: ThreadEnds,
}

impl Trie {
    pub(super) fn new(ledger: &Ledger, symbols: &dyn Symbolise) -> Self {
        let mut nodes: Vec<Node> = Vec::new();
        for (id, node) in ledger.rows::<Node>() {
            nodes.resize(id as usize, Node::default());
            nodes.push(node);
        }
        nodes.resize(nodes.len().max(1), Node::default());
        unfold(ledger, &mut nodes);
        hand_overs::leave_out(ledger, &mut nodes);
        let no_monitors = monitors::decide(ledger, symbols, &mut nodes);
        let recorded = nodes.len() as u32;
        let tried_first = tried_first::append(ledger, symbols, &mut nodes);
        let interrupts = interrupts::append(ledger, &mut nodes);
        let thread_ends = thread_ends::append(ledger, &mut nodes, interrupts.first);
        let (sets, cut) = paths(&mut nodes);
        let runs = runs(&nodes);
        let more = interrupts.evidence.iter().chain(&thread_ends.evidence);
        let more = more.chain(&tried_first.evidence).copied();
        let (first, segments) = evidence(ledger, more, nodes.len());
        let written = nodes.iter().filter(|n| n.state != 0 && !is_read(n.mode)).map(|n| n.class);
        let written = written.collect();
        Self {
            recorded,
            sets,
            cut,
            runs,
            first,
            segments,
            written,
            no_monitors,
            interrupts,
            thread_ends,
            nodes,
        }
    }

    /// Number of ids that were recorded, 0 included, and those that waits behind tries add ([`super::tried_first`]).
    pub fn len(&self) -> u32 {
        self.interrupts.first
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.len() <= 1
    }

    /// Node `id`.
    pub fn node(&self, id: u32) -> Option<&Node> {
        self.nodes.get(id as usize).filter(|node| node.state != 0)
    }

    /// Contexts in which some thread did acquire, with something held and ready to wait: those that
    /// make dependencies. (Other nodes only are steps of paths.)
    pub fn contexts(&self) -> impl Iterator<Item = (u32, &Node)> {
        self.all_contexts().take_while(|&(id, _)| id < self.len())
    }

    /// Those, the contexts that would come of a signal's handler interrupting somebody, and those
    /// in which the end of a thread is held or waited for.
    pub fn all_contexts(&self) -> impl Iterator<Item = (u32, &Node)> {
        (1..).zip(&self.nodes[1..]).filter(|&(id, node)| {
            node.state != 0
                && node.parent != 0
                && is_acquisition(node)
                && node.mode & mode::TRY == 0
                && (node.folded != 0 || !self.segments(id).is_empty())
        })
    }

    /// Contexts that the ledger has in which something was held already, by lock and place.
    pub fn nested(&self) -> u64 {
        let is_nested = |n: &&Node| n.parent != 0 && is_acquisition(n);
        self.nodes[..self.recorded as usize].iter().filter(is_nested).count() as u64
    }

    /// Number of ids that the ledger has, 0 included.
    pub fn recorded(&self) -> u32 {
        self.recorded
    }

    /// The signal whose handler would acquire in context `id`; `None` for what was recorded.
    pub fn signal(&self, id: u32) -> Option<u32> {
        self.interrupts.signal(id)
    }

    /// Whether there were more interruptions than could be looked at.
    pub fn interrupts_cut(&self) -> bool {
        self.interrupts.cut
    }

    /// Whether there were more joins than could be looked at.
    pub fn joins_cut(&self) -> bool {
        self.thread_ends.cut
    }

    /// The stacks at which threads were created whose ends are waited for, by class.
    pub(super) fn thread_ends(&self) -> &[u32] {
        &self.thread_ends.created
    }

    /// The class of the end of a thread, if it is waited for.
    pub fn end_class(&self, thread: u32) -> Option<u32> {
        self.thread_ends.class_of(thread)
    }

    /// The node of a thread's end where `id` is there for being acquired while that is held.
    pub fn thread_end(&self, id: u32) -> Option<u32> {
        self.thread_ends.root(id)
    }

    /// What was held when `id` was acquired, innermost first.
    pub fn held(&self, id: u32) -> impl Iterator<Item = (u32, &Node)> {
        let mut at = id;
        std::iter::from_fn(move || {
            at = self.node(at)?.parent;
            // Parents have smaller ids (see `paths`), so this ends.
            Some((at, self.node(at)?))
        })
    }

    /// As [`Trie::held`], without the locks of its own class that were taken just before: of a
    /// thread that holds thousands of one class, these need not be walked for each.
    pub fn held_behind_own(&self, id: u32) -> impl Iterator<Item = (u32, &Node)> {
        self.held(self.runs.get(id as usize).copied().unwrap_or(0))
    }

    /// Equal for nodes that were acquired while the same set of locks was held.
    pub fn held_set(&self, id: u32) -> u64 {
        self.node(id).map_or(0, |node| self.sets[node.parent as usize])
    }

    /// Whether more was held than the path to `id` names.
    pub fn is_cut(&self, id: u32) -> bool {
        self.cut.get(id as usize).copied().unwrap_or(true)
    }

    /// Whether nobody but the thread itself could know the lock of `held`, on the path to `id`,
    /// when it acquired `id`.
    pub fn is_new(&self, id: u32, held: u32) -> bool {
        let flags = self.node(id).map_or(0, |node| node.flags);
        flags >= node_flag::NEW
            && self
                .held(id)
                .zip(0..node_flag::NEWS)
                .any(|((at, _), k)| at == held && flags & node_flag::NEW << k != 0)
    }

    /// Segments that took the context `id`.
    pub fn segments(&self, id: u32) -> &[u32] {
        match self.first.get(id as usize..id as usize + 2) {
            Some(&[from, to]) => &self.segments[from as usize..to as usize],
            _ => &[],
        }
    }

    /// Classes of what was recorded as monitors, and is none.
    pub fn no_monitors(&self) -> &HashSet<u32> {
        &self.no_monitors
    }

    /// Whether a lock of the raw class was ever taken for writing.
    pub fn written(&self, class: u32) -> bool {
        self.written.contains(&class)
    }
}

/// Other nodes say where a thread waited for something that is no lock, and what it held meanwhile.
fn is_acquisition(node: &Node) -> bool {
    node.class != 0
}

/// Where a folded pair stands for a class that has but one lock, it is that lock. So a global lock
/// taken within many others keeps its identity, however many they are.
fn unfold(ledger: &Ledger, nodes: &mut [Node]) {
    let is_folded = |n: &&mut Node| n.inst == 0 && n.parent != 0 && is_acquisition(n);
    let folded: HashSet<u32> = nodes.iter_mut().filter(is_folded).map(|node| node.class).collect();
    if folded.is_empty() {
        return;
    }
    let single = |class| ledger.get::<Class>(class).is_some_and(|row| row.locks == 1);
    let only: HashMap<u32, (u32, u32)> = ledger
        .rows::<Lock>()
        .filter(|(_, lock)| folded.contains(&lock.class) && single(lock.class))
        .map(|(row, lock)| (lock.class, (row, lock.inst)))
        .collect();
    for node in nodes.iter_mut().filter(is_folded) {
        if let Some(&(row, inst)) = only.get(&node.class) {
            (node.lock, node.inst) = (row, inst);
        }
    }
}

/// Hash and completeness of each path. Cuts off whatever does not lead to the root through ever
/// smaller ids, which a sound ledger's parents have.
fn paths(nodes: &mut [Node]) -> (Vec<u64>, Vec<bool>) {
    let mut sets = vec![0u64; nodes.len()];
    let mut cut = vec![false; nodes.len()];
    for id in 1..nodes.len() {
        let Node { state, parent, inst, class, mode, flags, .. } = nodes[id];
        let parent = parent as usize;
        if state == 0 {
            continue;
        }
        let astray = parent >= id || (parent != 0 && nodes[parent].state == 0);
        if astray {
            nodes[id].parent = 0;
        }
        let parent = if astray { 0 } else { parent };
        // A sum, as the order of the set does not matter.
        sets[id] = sets[parent].wrapping_add(mix(identity(inst, class, shared(mode))));
        cut[id] = astray || flags & node_flag::TRUNCATED != 0 || cut[parent];
    }
    (sets, cut)
}

/// What a lock is, and how it is shared: equal for no two that differ. Instances and classes may
/// have any bit set, as the ends of threads do.
fn identity(inst: u32, class: u32, shared: u64) -> u64 {
    match inst {
        0 => u64::from(class) | shared << 62,
        _ => u64::from(inst) << 32 | shared,
    }
}

/// How a lock is shared that is held in `mode`: 0 not at all, 1 with readers, 2 with readers that
/// may not become the writer.
pub fn shared(mode: u16) -> u64 {
    match mode {
        _ if !is_read(mode) => 0,
        _ if mode & mode::UPGRADABLE == 0 => 1,
        _ => 2,
    }
}

/// See [`Trie::runs`]. Parents have smaller ids by now.
fn runs(nodes: &[Node]) -> Vec<u32> {
    let mut runs: Vec<u32> = (0..nodes.len() as u32).collect();
    for id in 1..nodes.len() {
        let parent = nodes[id].parent as usize;
        if parent != 0 && nodes[parent].class == nodes[id].class {
            runs[id] = runs[parent];
        }
    }
    runs
}

/// Spreads the bits of a lock's identity.
fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 31).wrapping_mul(0x7fb5_d329_728e_a185);
    let x = (x ^ x >> 27).wrapping_mul(0x81da_def4_bc2d_d44d);
    x ^ x >> 33
}

/// The evidence table, sorted by node.
fn evidence(
    ledger: &Ledger,
    more: impl Iterator<Item = (u32, u32)>,
    nodes: usize,
) -> (Vec<u32>, Vec<u32>) {
    let mut pairs: Vec<(u32, u32)> = ledger
        .rows::<Evidence>()
        .map(|(_, row)| (row.node, row.segment))
        .chain(more)
        .filter(|&(node, segment)| segment != 0 && (node as usize) < nodes)
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    let mut first = vec![0u32; nodes + 1];
    for &(node, _) in &pairs {
        first[node as usize + 1] += 1;
    }
    for id in 1..first.len() {
        first[id] += first[id - 1];
    }
    (first, pairs.into_iter().map(|(_, segment)| segment).collect())
}
