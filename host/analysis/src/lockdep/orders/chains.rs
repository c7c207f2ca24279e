//! Chains of dependencies that lead from a lock that one thread waits for to a lock that another
//! keeps while it waits for the first: with them a wait for something that is no lock is part of a
//! cycle of more than two threads.
//!
//! In a chain a thread of its own takes each part. By what is known of their order and their common
//! locks, all of these threads can be at their places at the same time. Only what was seen of the
//! very locks counts.

use std::collections::{HashMap, HashSet, VecDeque};

use lockwright_ledger::rows::{Class, Lock, Node, excludes, mode, node_flag};

use crate::lockdep::judge::Judge;
use crate::lockdep::search::budget::Budget;
use crate::model::Model;
use crate::view::occurrence::{Acquisition, Context, Level};

/// Parts of the longest chain that is looked for: threads besides the two of the wait.
const MOST: usize = 4;

/// Dependencies looked at in one process. Where thousands of locks are nested, there are millions.
const DEPENDENCIES: u64 = 1_000_000;

/// Combinations of threads looked at in one process.
const LOOKS: u64 = 200_000;

/// The dependencies between the locks of one process.
pub struct Chains<'m, 'a> {
    model: &'m Model<'a>,
    /// By lock that is held: the lock that is acquired then, and where.
    edges: HashMap<u32, Vec<(u32, Context)>>,
    /// By lock that is acquired: the locks that are held then.
    sources: HashMap<u32, HashSet<u32>>,
    looks: Budget,
    /// There were more dependencies.
    cut: bool,
}

impl<'m, 'a> Chains<'m, 'a> {
    /// Those of locks alone: the end of a thread is none.
    pub fn new(model: &'m Model<'a>) -> Self {
        let mut edges: HashMap<u32, Vec<(u32, Context)>> = HashMap::new();
        let mut sources: HashMap<u32, HashSet<u32>> = HashMap::new();
        let mut budget = Budget::new(DEPENDENCIES);
        let is_lock = |node: &Node| node.inst != 0 && model.classes.excludes(node.class);
        let waits = |node: &Node| {
            is_lock(node) && node.flags & node_flag::IN_HANDLER == 0 && node.mode & mode::TRY == 0
        };
        for (id, node) in model.trie.contexts().filter(|(_, node)| waits(node)) {
            if budget.is_spent_out() {
                break;
            }
            if model.trie.is_cut(id) {
                continue;
            }
            for (held, by) in Level::Instance.held(model, id) {
                if !budget.take(1) {
                    break;
                }
                if is_lock(by) && by.inst != node.inst && !model.trie.is_new(id, held) {
                    let context = Context { acquired: id, held };
                    edges.entry(by.inst).or_default().push((node.inst, context));
                    sources.entry(node.inst).or_default().insert(by.inst);
                }
            }
        }
        let cut = budget.is_spent_out();
        Self { model, edges, sources, looks: Budget::new(LOOKS), cut }
    }

    /// The locks from which chains lead to `lock`, and of how many parts the shortest is; `lock`
    /// itself with 0.
    pub fn leading_to(&self, lock: u32) -> HashMap<u32, usize> {
        let mut parts = HashMap::from([(lock, 0)]);
        let mut open = VecDeque::from([lock]);
        while let Some(at) = open.pop_front() {
            let next = parts[&at] + 1;
            for &source in self.sources.get(&at).into_iter().flatten().filter(|_| next <= MOST) {
                parts.entry(source).or_insert_with(|| {
                    open.push_back(source);
                    next
                });
            }
        }
        parts
    }

    /// The shortest chain from the lock that the last of `given` waits for, which is `from`, to
    /// `kept`, whose parts may all meet each other and the `given`. `parts` is what
    /// [`Chains::leading_to`] returns for `kept`. Empty if the first is the second.
    pub fn find(
        &mut self,
        judge: &Judge<'_, '_>,
        given: &[Acquisition],
        from: u32,
        kept: &Node,
        parts: &HashMap<u32, usize>,
    ) -> Option<Vec<Acquisition>> {
        let shortest = *parts.get(&from)?;
        let last = self.model.trie.node(given.last()?.context.acquired)?;
        if shortest == 0 {
            return meets(last, kept).then(Vec::new);
        }
        (shortest..=MOST).find_map(|length| {
            let mut search = Search { chains: self, judge, kept, parts, path: given.to_vec() };
            search.extend(from, last, length).then(|| search.path.split_off(given.len()))
        })
    }

    /// Whether not all dependencies or combinations were looked at.
    pub fn is_cut(&self) -> bool {
        self.cut || self.looks.is_spent_out()
    }
}

/// A search for one chain.
struct Search<'s, 'c, 'm, 'a, 'j, 'k> {
    chains: &'s mut Chains<'m, 'a>,
    judge: &'j Judge<'c, 'k>,
    kept: &'s Node,
    parts: &'s HashMap<u32, usize>,
    path: Vec<Acquisition>,
}

impl Search<'_, '_, '_, '_, '_, '_> {
    /// Adds `length` parts to the path, whose last acquisition is `last` and waits for `from`.
    fn extend(&mut self, from: u32, last: &Node, length: usize) -> bool {
        let model = self.chains.model;
        let edges = self.chains.edges.get(&from).map_or(0, Vec::len);
        for i in 0..edges {
            let (to, context) = self.chains.edges[&from][i];
            let is_near = self.parts.get(&to).is_some_and(|&parts| match length {
                1 => parts == 0,
                _ => parts != 0 && parts < length,
            });
            let nodes = [context.held, context.acquired].map(|id| model.trie.node(id));
            let [Some(held), Some(acquired)] = nodes else { continue };
            if !is_near || !meets(last, held) || length == 1 && !meets(acquired, self.kept) {
                continue;
            }
            for &segment in model.trie.segments(context.acquired) {
                let Some(thread) = model.order.thread(segment) else { continue };
                if self.path.iter().any(|other| other.thread == thread) {
                    continue;
                }
                if !self.chains.looks.take(1) {
                    return false;
                }
                self.path.push(Acquisition { context, segment, thread });
                if self.judge.may_meet(&self.path)
                    && (length == 1 || self.extend(to, acquired, length - 1))
                {
                    return true;
                }
                self.path.pop();
            }
        }
        false
    }
}

/// The one lock of each class that has no more: what is taken with nothing held is only known by
/// its class.
pub fn single_locks(model: &Model<'_>) -> HashMap<u32, u32> {
    let is_single = |class| model.ledger.get::<Class>(class).is_some_and(|row| row.locks == 1);
    let locks = model.ledger.rows::<Lock>().filter(|(_, lock)| is_single(lock.class));
    locks.map(|(_, lock)| (lock.class, lock.inst)).collect()
}

/// Whether an acquisition as in `node` that waits does so for a hold as in `held`.
fn meets(node: &Node, held: &Node) -> bool {
    excludes(node.mode, held.mode)
}
