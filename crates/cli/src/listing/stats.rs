//! lockdep's counters, under the names that /proc/lockdep_stats has, in its order.
//!
//! A signal stands where the kernel has hard and soft interrupts. Left out is what has no counterpart:
//! limits, for tables grow; softirq and dynamic keys; hash chains, for the indexes are open-addressed;
//! and what counts searches, for those are not made in the program but by the report. Zapped classes:
//! none ever are.

use std::fmt::Write;

use lockwright_ledger::layout::stopped;
use lockwright_ledger::rows::{Class, Evidence, Lock, Segment, Stack, node_flag, usage};

use super::Process;
use super::dependencies::{Counter, IN, OPEN, Reach};

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A sum over the processes.
    Sum(u64),
    /// The greatest of all processes.
    Most(u64),
    /// A sum that is a lower bound.
    AtLeast(u64),
}

impl Value {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Most(a), Self::Most(b)) => Self::Most(a.max(b)),
            (Self::Sum(a), Self::Sum(b)) => Self::Sum(a.saturating_add(b)),
            (a, b) => Self::AtLeast(a.number().saturating_add(b.number())),
        }
    }

    fn number(self) -> u64 {
        let (Self::Sum(n) | Self::Most(n) | Self::AtLeast(n)) = self;
        n
    }
}

/// The counters of several processes in one.
pub fn render(processes: &[Process<'_>]) -> String {
    let mut total: Vec<(&'static str, Value)> = Vec::new();
    for process in processes {
        let own = counters(process);
        if total.is_empty() {
            total = own;
            continue;
        }
        for (sum, (_, value)) in total.iter_mut().zip(own) {
            sum.1 = sum.1.and(value);
        }
    }
    let mut out = String::new();
    for (name, value) in total {
        let sign = if matches!(value, Value::AtLeast(_)) { ">=" } else { "" };
        let number = format!("{sign}{}", value.number());
        // Writing to a String cannot fail.
        let _ = writeln!(out, " {:<36} {number:>11}", format!("{name}:"));
    }
    out
}

/// Chains: contexts in which a lock was acquired, one held alone among them, as the kernel has it.
#[derive(Default)]
struct Chains {
    count: u64,
    /// Locks in all of them.
    held_locks: u64,
    deepest: u64,
    in_signal: u64,
}

fn chains(process: &Process<'_>) -> Chains {
    let trie = &process.model.trie;
    let mut chains = Chains::default();
    let mut depths = vec![0u64; trie.len() as usize];
    for id in 1..trie.len() {
        let Some(node) = trie.node(id).filter(|node| node.class != 0) else { continue };
        // Parents have smaller ids.
        let depth = depths[node.parent as usize] + 1;
        depths[id as usize] = depth;
        chains.count += 1;
        chains.held_locks += depth;
        chains.deepest = chains.deepest.max(depth);
        chains.in_signal += u64::from(node.flags & node_flag::IN_HANDLER != 0);
    }
    chains
}

fn counters(process: &Process<'_>) -> Vec<(&'static str, Value)> {
    use Value::{Most, Sum};
    let Process { model, dependencies } = process;
    let ledger = model.ledger;
    let classes = model.classes.len();
    let direct = dependencies.pairs().count() as u64;
    let mut counter = Counter::new(&dependencies.direct);
    let indirect = dependencies.direct.keys().fold(Reach::default(), |sum, &class| {
        let Reach { classes, cut } = counter.from(class);
        Reach { classes: sum.classes + classes, cut: sum.cut | cut }
    });
    let with = |bits| (1..=classes as u32).filter(|&c| dependencies.has(c, bits)).count() as u64;
    let (safe, unsafe_) = (with(usage::USED_IN), with(usage::OPEN));
    let touched = with(IN | OPEN);
    let used = dependencies.used.len() as u64;
    let chains = chains(process);
    let in_process = chains.count.saturating_sub(chains.in_signal);
    let frames = ledger.rows::<Stack>().map(|(_, stack)| u64::from(stack.len)).sum();
    let (acquisitions, misses) = model
        .threads()
        .fold((0, 0), |(all, slow), thread| (all + thread.acquisitions, slow + thread.slow));
    vec![
        ("lock-classes", Sum(classes)),
        ("direct dependencies", Sum(direct)),
        (
            "indirect dependencies",
            if indirect.cut { Value::AtLeast(indirect.classes) } else { Sum(indirect.classes) },
        ),
        // Every signal-safe class may come to be taken within every signal-unsafe one.
        ("all direct dependencies", Sum(direct + with(IN) * with(OPEN))),
        ("dependency chains", Sum(chains.count)),
        ("dependency chain hlocks used", Sum(chains.held_locks)),
        ("in-signal chains", Sum(chains.in_signal)),
        ("in-process chains", Sum(in_process)),
        ("stack-trace entries", Sum(frames)),
        ("number of stack traces", Sum(ledger.len_of::<Stack>())),
        ("combined max dependencies", Sum((chains.in_signal + 1).saturating_mul(in_process + 1))),
        ("signal-safe locks", Sum(safe)),
        ("signal-unsafe locks", Sum(unsafe_)),
        ("signal-read-safe locks", Sum(with(usage::USED_IN_READ))),
        ("signal-read-unsafe locks", Sum(with(usage::OPEN_READ))),
        ("uncategorized locks", Sum(used.saturating_sub(touched))),
        ("unused locks", Sum(classes.saturating_sub(used))),
        ("max locking depth", Most(chains.deepest)),
        ("max lock class index", Most(ledger.len_of::<Class>())),
        ("chain lookup misses", Sum(misses)),
        ("chain lookup hits", Sum(acquisitions.saturating_sub(misses))),
        ("debug_locks", Most(u64::from(ledger.header().stopped == stopped::NO))),
        ("lock instances", Sum(ledger.header().locks_seen)),
        ("lock instances recorded", Sum(ledger.len_of::<Lock>())),
        ("thread segments", Sum(ledger.len_of::<Segment>())),
        ("chains by segment", Sum(ledger.len_of::<Evidence>())),
    ]
}
