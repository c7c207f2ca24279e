//! Locks in memory that processes share. Each process has an identity of its own for such a lock, but what is mapped at its
//! address is the same to all: a byte of a file, or of memory without a name. So unlike other locks of different processes,
//! these can be one, and the processes can deadlock.
//!
//! An inode may be given to another file once the first is gone, and memory may hold one lock after another. So two rows are
//! one lock only if the processes are of one run and related, or ran at the same time, and if the lock was initialised
//! once at most.

use std::collections::{HashMap, HashSet};

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{
    Class, Lock, Node, class_origin, excludes, lock_flag, lock_kind, mode,
};

use super::combinations::combinations;
use super::processes::{Occurrence, Processes};
use crate::lockdep::search::budget::Budget;
use crate::lockdep::search::cycles::{Limits, Visitor, Work, shortest_first};
use crate::lockdep::search::graph::{Part, Vertex, parts_of, vertex};
use crate::view::occurrence::Context;

/// Held locks looked at to collect dependencies.
const WALK: u64 = 300_000_000;
/// Occurrences of one dependency that are kept of one process: enough to find one without a gate.
const MOST_OCCURRENCES: usize = 16;
/// As in [`crate::lockdep::orders::circular`].
const SURVEY: u64 = 50_000_000;
const STEPS: u64 = 20_000_000;
/// Cycles looked at in one part.
const MOST_JUDGED: usize = 5_000;
/// Ancestors of a process that are looked at.
const MOST_ANCESTORS: usize = 64;

/// The locks that several of some processes share, numbered from 1.
pub struct SharedLocks {
    /// By ledger and row of the lock.
    by_ledger: Vec<HashMap<u32, u32>>,
    lives: Vec<Life>,
}

/// A row of a lock.
struct Seen {
    ledger: usize,
    row: u32,
    class: u32,
    /// It is a semaphore that was posted by a thread of the process that had not taken it.
    is_handed_over: bool,
}

/// What is known of when a process lived.
struct Life {
    token: u64,
    /// The process that it was forked from.
    parent: u64,
    forked_ns: u64,
    /// It lived at least until then.
    until_ns: u64,
    /// By the row of a lock: the node that the row was made for, and when.
    nested: HashMap<u32, (u32, u64)>,
}

/// What leaves open whether a cycle of processes can deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doubt {
    /// Nothing that is known.
    None,
    /// Step `.0` has a timeout.
    Timeout(usize),
    /// More locks were held in step `.0` than recorded.
    Truncated(usize),
    /// Steps `.0` and `.1` each hold a lock that may be one.
    Gate(usize, usize),
    /// Steps `.0` and `.1` may have been one after the other.
    Apart(usize, usize),
}

impl Doubt {
    fn rank(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Timeout(_) | Self::Truncated(_) | Self::Gate(..) | Self::Apart(..) => 1,
        }
    }
}

/// A cycle of shared locks.
#[derive(Clone, Debug)]
pub struct Cycle {
    pub doubt: Doubt,
    /// An occurrence for each edge, of as many processes.
    pub acquisitions: Vec<Occurrence>,
}

impl SharedLocks {
    /// Those of the processes of these ledgers.
    pub fn new(ledgers: &[&Ledger]) -> Self {
        let lives: Vec<Life> = ledgers.iter().map(|ledger| Life::new(ledger)).collect();
        // By the run and the place of a lock: its rows.
        let mut places: HashMap<([u64; 2], u64), Vec<Seen>> = HashMap::new();
        for (index, ledger) in ledgers.iter().enumerate() {
            let run = ledger.header().run;
            for (row, lock) in ledger.rows::<Lock>().filter(|(_, lock)| lock.shared != 0) {
                if run != [0; 2] {
                    places.entry((run, lock.shared)).or_default().push(Seen {
                        ledger: index,
                        row,
                        class: lock.class,
                        is_handed_over: lock.flags & lock_flag::HANDED_OVER != 0,
                    });
                }
            }
        }
        let mut this = Self { by_ledger: vec![HashMap::new(); ledgers.len()], lives };
        let mut several: Vec<_> = places.into_values().collect();
        several.retain(|rows| rows.len() > 1 && this.is_one(ledgers, rows));
        several.sort_unstable_by_key(|rows| (rows[0].ledger, rows[0].row));
        for (rows, id) in several.iter().zip(1..) {
            for seen in rows {
                this.by_ledger[seen.ledger].insert(seen.row, id);
            }
        }
        this
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.by_ledger.iter().all(HashMap::is_empty)
    }

    /// Whether rows of one place can be one life of one lock.
    fn is_one(&self, ledgers: &[&Ledger], rows: &[Seen]) -> bool {
        let mut seen = HashSet::new();
        // A process that has two of them has seen one end, or has the memory twice.
        if !rows.iter().all(|row| seen.insert(row.ledger)) {
            return false;
        }
        // What is no lock to one process is none to the others.
        if rows.iter().any(|row| row.is_handed_over) {
            return false;
        }
        let origin = |row: &Seen| {
            ledgers[row.ledger].get::<Class>(row.class).map_or(0, |class| class.origin)
        };
        let of_origin = |wanted| rows.iter().filter(move |row| origin(row) == wanted);
        let mut initialised = of_origin(class_origin::INIT).map(|row| row.ledger);
        let Some(by) = initialised.next() else { return true };
        initialised.next().is_none()
            && of_origin(class_origin::INHERITED).all(|row| self.is_ancestor(by, row.ledger))
    }

    /// Whether a process is an ancestor of another, by forks of watched processes alone.
    fn is_ancestor(&self, process: usize, of: usize) -> bool {
        let mut at = of;
        for _ in 0..MOST_ANCESTORS {
            let parent = self.lives[at].parent;
            if parent == 0 {
                return false;
            }
            if parent == self.lives[process].token {
                return true;
            }
            let Some(next) = self.lives.iter().position(|life| life.token == parent) else {
                return false;
            };
            at = next;
        }
        false
    }

    /// The lock of a node.
    fn lock(&self, ledger: usize, node: &Node) -> Option<u32> {
        self.by_ledger[ledger].get(&node.lock).copied().filter(|_| node.inst != 0)
    }

    /// The cycles that several processes make together, and whether all were looked at.
    pub fn cycles(&self, all: &Processes<'_, '_>) -> (Vec<Cycle>, bool) {
        let (links, mut whole) = self.links(all);
        let mut found = Vec::new();
        for part in &parts_of(links) {
            let (mut survey, mut steps) = (Budget::new(SURVEY), Budget::new(STEPS));
            let mut work = Work::default();
            let mut limits = Limits { survey: &mut survey, walk: &mut steps, work: &mut work };
            let mut collector = Collector {
                locks: self,
                all,
                part,
                seen: HashSet::new(),
                found: &mut found,
                judged: 0,
            };
            shortest_first(part, self.lives.len() as u32, &mut limits, &mut collector);
            let done = collector.is_done();
            whole &= !(done || survey.is_spent_out() || steps.is_spent_out());
        }
        (found, whole)
    }

    fn links(&self, all: &Processes<'_, '_>) -> (Vec<(Vertex, Vertex, Occurrence)>, bool) {
        let mut budget = Budget::new(WALK);
        let mut links = Vec::new();
        for (ledger, model) in all.models.iter().enumerate() {
            if self.by_ledger[ledger].is_empty() {
                continue;
            }
            let mut kept: HashMap<(Vertex, Vertex), HashSet<(u64, bool)>> = HashMap::new();
            for (id, node) in model.trie.contexts() {
                let Some(lock) = self.lock(ledger, node) else { continue };
                for (held, by) in model.trie.held(id) {
                    if !budget.take(1) {
                        return (links, false);
                    }
                    let from = self.lock(ledger, by).filter(|&from| from != lock);
                    let Some(from) = from else { continue };
                    let set = (model.trie.held_set(id), model.trie.is_new(id, held));
                    for how in [0, mode::READ, mode::READ | mode::UPGRADABLE] {
                        let (from, to) = (vertex(from, by.mode), vertex(lock, how));
                        let sets = kept.entry((from, to)).or_default();
                        if excludes(node.mode, how)
                            && sets.len() < MOST_OCCURRENCES
                            && sets.insert(set)
                        {
                            let context = Context { acquired: id, held };
                            links.push((from, to, Occurrence { ledger, context }));
                        }
                    }
                }
            }
        }
        (links, true)
    }

    /// What a combination lacks; `None` if it is no deadlock.
    fn judge(&self, all: &Processes<'_, '_>, acquisitions: &[Occurrence]) -> Option<Doubt> {
        let mut doubt = Doubt::None;
        for (i, a) in acquisitions.iter().enumerate() {
            let trie = &all.models[a.ledger].trie;
            if trie.is_cut(a.context.acquired) {
                doubt = Doubt::Truncated(i);
            } else if trie.node(a.context.acquired)?.mode & mode::TIMED != 0 {
                doubt = Doubt::Timeout(i);
            }
            let before = &acquisitions[(i + acquisitions.len() - 1) % acquisitions.len()];
            if trie.is_new(a.context.acquired, a.context.held) && !inherited(all, before) {
                return None;
            }
            for (j, b) in acquisitions.iter().enumerate().skip(i + 1) {
                if a.ledger == b.ledger || !self.are_known(a.ledger, b.ledger) {
                    return None;
                }
                match gate(all, a, b) {
                    Gate::Certain => return None,
                    Gate::Doubtful => doubt = Doubt::Gate(i, j),
                    Gate::None => {}
                }
                if !self.can_meet(all, a, b) {
                    doubt = Doubt::Apart(i, j);
                }
            }
        }
        Some(doubt)
    }

    /// Whether equal places are one lock to the two processes.
    fn are_known(&self, a: usize, b: usize) -> bool {
        self.overlap(a, b)
            || self.are_siblings(a, b)
            || self.is_ancestor(a, b)
            || self.is_ancestor(b, a)
    }

    fn are_siblings(&self, a: usize, b: usize) -> bool {
        self.lives[a].parent != 0 && self.lives[a].parent == self.lives[b].parent
    }

    /// Whether both lived at one time.
    fn overlap(&self, a: usize, b: usize) -> bool {
        let [a, b] = [a, b].map(|process| &self.lives[process]);
        a.forked_ns <= b.until_ns && b.forked_ns <= a.until_ns
    }

    /// Whether nothing that is known orders the two. A process forks others, and may wait for their ends: so the one that
    /// was there first has to have taken its locks while the other lived. Children of one process know nothing of each other.
    fn can_meet(&self, all: &Processes<'_, '_>, a: &Occurrence, b: &Occurrence) -> bool {
        if self.are_siblings(a.ledger, b.ledger) {
            return self.overlap(a.ledger, b.ledger);
        }
        let first = self.lives[a.ledger].forked_ns <= self.lives[b.ledger].forked_ns;
        let (early, late) = if first { (a, b) } else { (b, a) };
        let life = &self.lives[late.ledger];
        let at = self.time(all, early);
        at.is_some_and(|at| (life.forked_ns..=life.until_ns).contains(&at))
    }

    /// When it first happened: known if it is why the row of the lock was made.
    fn time(&self, all: &Processes<'_, '_>, occurrence: &Occurrence) -> Option<u64> {
        let acquired = occurrence.context.acquired;
        let node = all.models[occurrence.ledger].trie.node(acquired)?;
        let &(first, at) = self.lives[occurrence.ledger].nested.get(&node.lock)?;
        (first == acquired).then_some(at)
    }
}

/// Whether the process of a step has known the lock that it acquires since its fork: to it, that lock is not new.
fn inherited(all: &Processes<'_, '_>, step: &Occurrence) -> bool {
    let model = &all.models[step.ledger];
    let node = model.trie.node(step.context.acquired);
    let class = node.and_then(|node| model.ledger.get::<Class>(node.class));
    class.is_some_and(|class| class.origin == class_origin::INHERITED)
}

/// Whether two steps hold a common lock.
enum Gate {
    None,
    /// They hold some of which it is not known where they lie.
    Doubtful,
    Certain,
}

/// A lock that both hold, and not both as readers.
fn gate(all: &Processes<'_, '_>, a: &Occurrence, b: &Occurrence) -> Gate {
    // What the lock is known by to all processes; `None` if it may be shared and that is not known.
    let held = |occurrence: &Occurrence| -> Vec<(Option<u64>, u16)> {
        let model = &all.models[occurrence.ledger];
        let held = model.trie.held(occurrence.context.acquired);
        let lock = |node: &Node| {
            let row = model.ledger.get::<Lock>(node.lock).filter(|_| node.inst != 0);
            let kind = model.classes.kind(node.class);
            row.filter(|_| {
                matches!(kind, lock_kind::MUTEX..=lock_kind::SPIN | lock_kind::SEMAPHORE)
            })
        };
        held.map(|(_, node)| (lock(node).map(|row| row.shared), node.mode)).collect()
    };
    let (a, b) = (held(a), held(b));
    let are_both = |wanted: Option<u64>| {
        let mut modes = a.iter().filter(|(lock, _)| *lock == wanted);
        modes.any(|&(_, how)| b.iter().any(|&(lock, other)| lock == wanted && excludes(how, other)))
    };
    if a.iter().any(|&(lock, _)| lock.is_some_and(|shared| shared != 0) && are_both(lock)) {
        Gate::Certain
    } else if are_both(None) {
        Gate::Doubtful
    } else {
        Gate::None
    }
}

impl Life {
    fn new(ledger: &Ledger) -> Self {
        let header = ledger.header();
        let mut nested: HashMap<u32, (u32, u64)> = ledger
            .rows::<Lock>()
            .filter(|(_, lock)| lock.shared != 0)
            .map(|(row, lock)| (row, (u32::MAX, lock.nested_ns)))
            .collect();
        for (id, node) in ledger.rows::<Node>() {
            if let Some((first, _)) = nested.get_mut(&node.lock) {
                *first = id.min(*first);
            }
        }
        let last = nested.values().map(|&(_, at)| at).max().unwrap_or(0);
        Self {
            token: header.token,
            parent: header.parent_token,
            forked_ns: header.forked_ns,
            until_ns: if header.end_ns == 0 { last.max(header.start_ns) } else { header.end_ns },
            nested,
        }
    }
}

/// Judges the cycles of one part.
struct Collector<'c, 'p, 'a> {
    locks: &'c SharedLocks,
    all: &'c Processes<'p, 'a>,
    part: &'c Part<Occurrence>,
    /// The locks of those that were found, sorted.
    seen: HashSet<Vec<u32>>,
    found: &'c mut Vec<Cycle>,
    judged: usize,
}

impl Collector<'_, '_, '_> {
    /// Whether several threads of one process take all the orders: then it is in the report of that process.
    fn is_in_one(&self, edges: &[&[Occurrence]]) -> bool {
        edges[0].iter().any(|of| {
            let is_its = |occurrence: &&Occurrence| occurrence.ledger == of.ledger;
            let model = &self.all.models[of.ledger];
            let all = edges.iter().all(|edge| edge.iter().any(|occurrence| is_its(&occurrence)));
            let taken = edges.iter().flat_map(|edge| edge.iter()).filter(is_its);
            let segments = taken.flat_map(|it| model.trie.segments(it.context.acquired));
            let threads: HashSet<_> =
                segments.map(|&segment| model.order.thread(segment)).collect();
            all && threads.len() > 1
        })
    }
}

impl Visitor for Collector<'_, '_, '_> {
    fn cycle(&mut self, edges: &[usize]) {
        let mut locks: Vec<u32> =
            edges.iter().map(|&edge| self.part.locks[self.part.to[edge] as usize]).collect();
        locks.sort_unstable();
        if self.seen.contains(&locks) {
            return;
        }
        self.judged += 1;
        let edges: Vec<&[Occurrence]> =
            edges.iter().map(|&edge| self.part.contexts(edge)).collect();
        if self.is_in_one(&edges) {
            return;
        }
        let mut best: Option<Cycle> = None;
        combinations(&edges, |acquisitions| {
            if let Some(doubt) = self.locks.judge(self.all, acquisitions)
                && best.as_ref().is_none_or(|best| doubt.rank() < best.doubt.rank())
            {
                best = Some(Cycle { doubt, acquisitions: acquisitions.to_vec() });
            }
            best.as_ref().is_none_or(|best| best.doubt != Doubt::None)
        });
        if let Some(best) = best {
            self.found.push(best);
            self.seen.insert(locks);
        }
    }

    fn is_done(&self) -> bool {
        self.judged >= MOST_JUDGED
    }

    fn explained(
        &self,
        lock: u32,
        mut before: impl Iterator<Item = u32>,
        _: &[usize],
        _: u32,
    ) -> bool {
        before.any(|other| self.seen.contains(&[lock.min(other), lock.max(other)][..]))
    }
}
