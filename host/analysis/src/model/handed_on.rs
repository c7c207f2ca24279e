//! What one thread did before another in this run, though not in every run: it signalled a condition variable, and so woke the
//! other ([`finding_kind::HANDED_ON`]).

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{Finding, Segment, finding_kind, mode};

use super::built_locks;
use super::order::Order;
use super::sources::Symbolise;
use super::trie::Trie;

/// Entries of remembered pasts before they are forgotten.
const REMEMBERED: usize = 1 << 20;

/// A signal that woke a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandOn {
    /// The thread that signalled.
    pub from: u32,
    /// The thread that woke.
    pub to: u32,
    /// Stack of the signal, 0 if unknown.
    pub stack: u32,
    /// The mutex of the wait.
    pub mutex: u32,
    /// The last segment before the signal.
    pub last: u32,
    /// The same, or the last before it that is in the ledger: one in which nothing was recorded may be left out. 0 if there
    /// is none.
    recorded: u32,
    /// The first segment after the wait.
    pub first: u32,
}

/// The latest segment of each thread that was over when another began.
type Past = HashMap<u32, u32>;

/// The signals of one process.
pub struct HandedOn {
    /// By the thread that woke. Sorted, so that each report on a ledger names the same signal.
    by_woken: BTreeMap<u32, Vec<HandOn>>,
    pasts: RefCell<HashMap<u32, Rc<Past>>>,
}

impl HandedOn {
    /// The recorded ones.
    pub fn new(ledger: &Ledger, trie: &Trie, symbols: &dyn Symbolise) -> Self {
        let all: Vec<Finding> = ledger.rows::<Finding>().map(|(_, row)| row).collect();
        let is_woken = |row: &&Finding| row.kind == finding_kind::HANDED_ON;
        if !all.iter().any(|row| is_woken(&row)) {
            return Self { by_woken: BTreeMap::new(), pasts: RefCell::default() };
        }
        let locks = built_locks::find(ledger, trie, symbols, &all);
        let idle = wakings_for_nothing(trie, &all);
        let counts = |row: &&Finding| !locks.contains(&row.addr) && !idle.contains(&row.segment);
        let rows = || all.iter().filter(is_woken).filter(counts);
        let mut segments: HashMap<u32, Vec<u32>> =
            rows().map(|row| (row.other_thread, Vec::new())).collect();
        if !segments.is_empty() {
            for (id, row) in ledger.rows::<Segment>() {
                segments.entry(row.thread).and_modify(|all| all.push(id));
            }
        }
        let mut by_woken: BTreeMap<u32, Vec<HandOn>> = BTreeMap::new();
        for row in rows() {
            let last = row.detail as u32;
            let all = &segments[&row.other_thread];
            let before = all.partition_point(|&id| id <= last);
            by_woken.entry(row.thread).or_default().push(HandOn {
                from: row.other_thread,
                to: row.thread,
                stack: row.other_stack,
                mutex: row.inst,
                last,
                recorded: before.checked_sub(1).map_or(0, |at| all[at]),
                first: row.segment,
            });
        }
        Self { by_woken, pasts: RefCell::default() }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_woken.is_empty()
    }

    /// The signals that had woken a thread before segment `b`, by what orders threads and by signals.
    pub fn before(&self, order: &Order, b: u32) -> impl Iterator<Item = &HandOn> {
        let past = self.past(order, b);
        let is_over =
            move |it: &&HandOn| past.get(&it.to).is_some_and(|&latest| latest >= it.first);
        self.by_woken.values().flatten().filter(is_over)
    }

    /// The signal by which segment `a` came before segment `b` of another thread, if one did.
    pub fn between(&self, order: &Order, a: u32, b: u32) -> Option<HandOn> {
        if self.is_empty() {
            return None;
        }
        let thread = order.thread(a)?;
        let past = self.past(order, b);
        if past.get(&thread).is_none_or(|&latest| latest < a) {
            return None;
        }
        // Its own signal, or one of a thread that came after it.
        let own = self.before(order, b).find(|it| it.from == thread && it.last >= a);
        let comes_after = |it: &&HandOn| {
            let before = self.past(order, it.recorded);
            before.get(&thread).is_some_and(|&latest| latest >= a)
        };
        own.or_else(|| self.before(order, b).find(comes_after)).copied()
    }

    /// The latest segment of each thread that was over when `segment` began, by what orders threads and by signals.
    fn past(&self, order: &Order, segment: u32) -> Rc<Past> {
        if let Some(past) = self.pasts.borrow().get(&segment) {
            return Rc::clone(past);
        }
        let mut past: Past = (*order.past(segment)).clone();
        let mut open: Vec<u32> = past.keys().copied().collect();
        while let Some(thread) = open.pop() {
            let latest = past.get(&thread).copied().unwrap_or(0);
            for signal in self.by_woken.get(&thread).into_iter().flatten() {
                let is_known = past.get(&signal.from).is_some_and(|&it| it >= signal.last);
                if signal.first > latest || is_known {
                    continue;
                }
                let before = order.past(signal.recorded);
                let before = before.iter().map(|(&thread, &latest)| (thread, latest));
                for (thread, latest) in before.chain([(signal.from, signal.last)]) {
                    let known = past.entry(thread).or_default();
                    if *known < latest {
                        *known = latest;
                        open.push(thread);
                    }
                }
            }
        }
        let past = Rc::new(past);
        let mut pasts = self.pasts.borrow_mut();
        if pasts.values().map(|past| past.len()).sum::<usize>() > REMEMBERED {
            pasts.clear();
        }
        pasts.insert(segment, Rc::clone(&past));
        past
    }
}

/// The segments that begin with a wake-up after which the thread waits with the same mutex again, and acquires nothing before:
/// what it waits for has not happened.
fn wakings_for_nothing(trie: &Trie, rows: &[Finding]) -> HashSet<u32> {
    let nodes = || (1..trie.len()).filter_map(|id| Some((id, trie.node(id)?)));
    let segments = |id: u32| trie.segments(id).iter().copied();
    // With the class of the mutex.
    let waits: HashSet<(u32, u32)> = nodes()
        .filter(|(_, node)| node.class == 0 && node.mode & mode::COND_WAIT != 0)
        .filter_map(|(id, node)| Some((id, trie.node(node.parent)?.class)))
        .flat_map(|(id, class)| segments(id).map(move |segment| (segment, class)))
        .collect();
    let works: HashSet<u32> =
        nodes().filter(|(_, node)| node.class != 0).flat_map(|(id, _)| segments(id)).collect();
    let woken = rows.iter().filter(|row| row.kind == finding_kind::HANDED_ON && row.class != 0);
    let of_waits = woken.filter(|row| waits.contains(&(row.segment, row.class)));
    of_waits.map(|row| row.segment).filter(|segment| !works.contains(segment)).collect()
}
