//! lockdep's counters, under the names that /proc/lockdep_stats has, in its order; after them some
//! of our own.
//!
//! A signal stands where the kernel has a hard interrupt. A counter without a counterpart here says
//! so instead of a number; docs/stats.md has the reason for each.

use std::fmt::Write;

use lockwright_ledger::layout::stopped;
use lockwright_ledger::rows::{Class, DebugCounts, Evidence, Lock, Segment, Stack, usage};

use super::process::Process;
use super::value::{Counters, Value, total};
use lockwright_analysis::dependencies::{IN, OPEN};
use lockwright_analysis::lockdep::search_work;
use lockwright_analysis::model::class_chains::class_chains;
use lockwright_analysis::reach::Reaches;

/// The counters of several processes in one.
pub fn render(processes: &[Process<'_>]) -> String {
    let mut out = String::new();
    let is_debug =
        processes.iter().any(|process| process.model.ledger.rows::<DebugCounts>().next().is_some());
    for (name, value) in total(processes.iter().map(|process| counters(process, is_debug))) {
        // Writing to a String cannot fail.
        let _ = writeln!(out, " {:<36} {:>11}", format!("{name}:"), value.to_string());
    }
    out
}

/// What there is of [`class_chains`].
#[derive(Default)]
struct Chains {
    count: u64,
    /// Locks in all of them.
    held_locks: u64,
    deepest: u64,
    in_signal: u64,
}

fn chains(process: &Process<'_>) -> Chains {
    let mut sum = Chains::default();
    for chain in class_chains(&process.model) {
        sum.count += 1;
        sum.held_locks += chain.depth;
        sum.deepest = sum.deepest.max(chain.depth);
        sum.in_signal += u64::from(chain.is_in_handler);
    }
    sum
}

/// Counters that only a library built with `debug-lockdep` has.
#[derive(Default)]
struct Debug {
    hardirqs_on: u64,
    hardirqs_off: u64,
    redundant_on: u64,
    redundant_off: u64,
    chain_checks: u64,
    bad_chains: u64,
}

fn debug(process: &Process<'_>) -> Debug {
    let mut sum = Debug::default();
    for (_, row) in process.model.ledger.rows::<DebugCounts>() {
        for (sum, own) in [
            (&mut sum.hardirqs_on, row.hardirqs_on),
            (&mut sum.hardirqs_off, row.hardirqs_off),
            (&mut sum.redundant_on, row.redundant_on),
            (&mut sum.redundant_off, row.redundant_off),
            (&mut sum.chain_checks, row.chain_checks),
            (&mut sum.bad_chains, row.bad_chains),
        ] {
            *sum = sum.saturating_add(own);
        }
    }
    sum
}

fn counters(process: &Process<'_>, is_debug: bool) -> Counters {
    use Value::{AtLeast, Least, Most, Sum};
    const NONE: Value = Value::NotApplicable;
    let Process { model, dependencies, .. } = process;
    let ledger = model.ledger;
    let classes = model.classes.len();
    let direct = dependencies.pairs().count() as u64;
    let indirect = Reaches::new(&dependencies.direct).total();
    let with = |bits| (1..=classes as u32).filter(|&c| dependencies.has(c, bits)).count() as u64;
    let (safe, unsafe_) = (with(usage::USED_IN), with(usage::OPEN));
    let (read_safe, read_unsafe) = (with(usage::USED_IN_READ), with(usage::OPEN_READ));
    let touched = with(IN | OPEN);
    let used = dependencies.used.len() as u64;
    let chains = chains(process);
    let in_process = chains.count.saturating_sub(chains.in_signal);
    let frames = ledger.rows::<Stack>().map(|(_, stack)| u64::from(stack.len)).sum();
    let (acquisitions, misses) = model.threads().fold((0u64, 0u64), |(all, slow), thread| {
        (all.saturating_add(thread.acquisitions), slow.saturating_add(thread.slow))
    });
    let debug = debug(process);
    let debug_only = |count| if is_debug { Sum(count) } else { NONE };
    let search = search_work(model);
    vec![
        ("lock-classes", Sum(classes)),
        ("dynamic-keys", NONE),
        ("direct dependencies", Sum(direct)),
        (
            "indirect dependencies",
            // The kernel counts each class among those that follow it.
            if indirect.cut {
                AtLeast(indirect.classes + classes)
            } else {
                Sum(indirect.classes + classes)
            },
        ),
        // Every signal-safe class may come to be taken within every signal-unsafe one.
        ("all direct dependencies", Sum(direct + with(IN) * with(OPEN))),
        ("dependency chains", Sum(chains.count)),
        ("dependency chain hlocks used", Sum(chains.held_locks)),
        ("dependency chain hlocks lost", NONE),
        ("in-hardirq chains", Sum(chains.in_signal)),
        ("in-softirq chains", NONE),
        ("in-process chains", Sum(in_process)),
        ("stack-trace entries", Sum(frames)),
        ("number of stack traces", Sum(ledger.len_of::<Stack>())),
        ("number of stack hash chains", NONE),
        ("combined max dependencies", Sum((chains.in_signal + 1).saturating_mul(in_process + 1))),
        ("hardirq-safe locks", Sum(safe)),
        ("hardirq-unsafe locks", Sum(unsafe_)),
        ("softirq-safe locks", NONE),
        ("softirq-unsafe locks", NONE),
        ("irq-safe locks", Sum(safe)),
        ("irq-unsafe locks", Sum(unsafe_)),
        ("hardirq-read-safe locks", Sum(read_safe)),
        ("hardirq-read-unsafe locks", Sum(read_unsafe)),
        ("softirq-read-safe locks", NONE),
        ("softirq-read-unsafe locks", NONE),
        ("irq-read-safe locks", Sum(read_safe)),
        ("irq-read-unsafe locks", Sum(read_unsafe)),
        ("uncategorized locks", Sum(used.saturating_sub(touched))),
        ("unused locks", Sum(classes.saturating_sub(used))),
        ("max locking depth", Most(chains.deepest)),
        ("max bfs queue depth", Most(search.longest_queue)),
        ("max lock class index", Most(ledger.len_of::<Class>())),
        ("chain lookup misses", Sum(misses)),
        ("chain lookup hits", Sum(acquisitions.saturating_sub(misses))),
        ("cyclic checks", Sum(search.checks)),
        ("redundant checks", NONE),
        ("redundant links", NONE),
        ("find-mask forwards checks", NONE),
        ("find-mask backwards checks", NONE),
        ("hardirq on events", debug_only(debug.hardirqs_on)),
        ("hardirq off events", debug_only(debug.hardirqs_off)),
        ("redundant hardirq ons", debug_only(debug.redundant_on)),
        ("redundant hardirq offs", debug_only(debug.redundant_off)),
        ("softirq on events", NONE),
        ("softirq off events", NONE),
        ("redundant softirq ons", NONE),
        ("redundant softirq offs", NONE),
        ("debug_locks", Least(u64::from(ledger.header().stopped == stopped::NO))),
        ("zapped classes", NONE),
        ("zapped lock chains", NONE),
        ("large chain blocks", NONE),
        ("lock instances", Sum(ledger.header().locks_seen)),
        ("lock instances recorded", Sum(ledger.len_of::<Lock>())),
        ("thread segments", Sum(ledger.len_of::<Segment>())),
        ("chains by segment", Sum(ledger.len_of::<Evidence>())),
        ("chain key checks", debug_only(debug.chain_checks)),
        ("bad chain keys", debug_only(debug.bad_chains)),
    ]
}
