//! Condition variables and semaphores of which a program, or its runtime, builds locks: CPython's GIL, Boost's timed mutexes,
//! a flag with a mutex and a condition. Whoever releases such a lock wakes the next, which says nothing of what the two do.
//!
//! A condition variable is a lock's if each thread that wakes another has come before by where threads wait for it: it has
//! taken the mutex at the same place, or in a function that is inlined in both. A queue has threads that only fill it, and what
//! is waited for once is signalled by a thread that does not wait for it.

use std::collections::{HashMap, HashSet};

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{Finding, Node, Segment, finding_kind, mode};

use super::sources::Symbolise;
use super::trie::Trie;

/// The addresses of these, among those by which threads of `rows` were woken.
pub(super) fn find(
    ledger: &Ledger,
    trie: &Trie,
    symbols: &dyn Symbolise,
    rows: &[Finding],
) -> HashSet<u64> {
    let mut by_object: HashMap<u64, Vec<&Finding>> = HashMap::new();
    for row in rows.iter().filter(|row| row.kind == finding_kind::HANDS_ON) {
        by_object.entry(row.addr).or_default().push(row);
    }
    for row in rows.iter().filter(|row| row.kind == finding_kind::SIGNALS_NOBODY) {
        by_object.entry(row.addr).and_modify(|all| all.push(row));
    }
    let is_woken = |thread: u32, addr: u64| {
        rows.iter()
            .any(|row| (row.kind, row.thread, row.addr) == (finding_kind::HANDED_ON, thread, addr))
    };
    let takings = Takings::new(ledger, trie, symbols);
    let is_lock = |addr: u64, signals: &[&Finding]| match signals[0].class {
        // A semaphore: whoever posts it has waited for it.
        0 => signals.iter().all(|signal| is_woken(signal.thread, addr)),
        _ => takings.all_wait(signals),
    };
    by_object.into_iter().filter(|(addr, of)| is_lock(*addr, of)).map(|(addr, _)| addr).collect()
}

/// Where mutexes are taken.
struct Takings<'a> {
    ledger: &'a Ledger,
    trie: &'a Trie,
    symbols: &'a dyn Symbolise,
    /// The contexts of each class.
    by_class: HashMap<u32, Vec<u32>>,
    /// Those in which a mutex of the class is given up in a wait on a condition variable.
    given_up: HashMap<u32, Vec<u32>>,
}

impl<'a> Takings<'a> {
    fn new(ledger: &'a Ledger, trie: &'a Trie, symbols: &'a dyn Symbolise) -> Self {
        let mut by_class: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut given_up: HashMap<u32, Vec<u32>> = HashMap::new();
        for (id, node) in (1..trie.len()).filter_map(|id| Some((id, trie.node(id)?))) {
            if node.class != 0 {
                by_class.entry(node.class).or_default().push(id);
            } else if node.mode & mode::COND_WAIT != 0
                && let Some(mutex) = trie.node(node.parent)
            {
                given_up.entry(mutex.class).or_default().push(node.parent);
            }
        }
        Self { ledger, trie, symbols, by_class, given_up }
    }

    /// Whether each of the threads that signal has taken the waiters' mutex where they take it.
    fn all_wait(&self, signals: &[&Finding]) -> bool {
        let Finding { class, inst, .. } = *signals[0];
        let of_mutex = |of: &HashMap<u32, Vec<u32>>| {
            let ids = of.get(&class).into_iter().flatten();
            let nodes = ids.filter_map(|&id| Some((id, self.trie.node(id)?)));
            let of_it = nodes.filter(|(_, node)| node.inst == inst || node.inst == 0);
            of_it.collect::<Vec<(u32, &Node)>>()
        };
        let mut sites = HashSet::new();
        let mut functions = HashSet::new();
        for (_, taken) in of_mutex(&self.given_up) {
            sites.insert(taken.site);
            functions.extend(self.functions(taken));
        }
        let takes_there = |node: &Node| {
            sites.contains(&node.site)
                || self.functions(node).iter().any(|name| functions.contains(name))
        };
        let mut takings = of_mutex(&self.by_class);
        takings.retain(|(_, node)| takes_there(node));
        signals.iter().all(|signal| {
            let is_earlier = |&segment: &u32| {
                let row = self.ledger.get::<Segment>(segment);
                segment <= signal.segment && row.is_some_and(|row| row.thread == signal.thread)
            };
            takings.iter().any(|&(id, _)| self.trie.segments(id).iter().any(is_earlier))
        })
    }

    /// The functions whose code has the call, down to the one that is not inlined, without those of the standard library.
    fn functions(&self, node: &Node) -> Vec<String> {
        let stack = self.symbols.stack(node.stack);
        let own = stack.iter().position(|frame| !frame.inlined).map_or(stack.len(), |at| at + 1);
        let names = stack[..own].iter().filter_map(|frame| frame.function.clone());
        names.filter(|name| !is_of_standard_library(name)).collect()
    }
}

fn is_of_standard_library(name: &str) -> bool {
    const PARTS: [&str; 3] = ["std::", "gthread", "pthread_"];
    PARTS.iter().any(|part| name.contains(part))
}
