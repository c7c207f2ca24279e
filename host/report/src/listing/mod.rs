//! Listings of the records, as the kernel shows them in /proc/lockdep, /proc/lockdep_chains,
//! /proc/lockdep_stats and debug_objects/stats, and as a graph: for users who want to see what the
//! report rests on.

mod chains;
mod classes;
mod graph;
mod lock_graph;
mod pools;
mod process;
mod stats;
mod value;

use lockwright_ledger::Ledger;

pub use lock_graph::{Dependency, LockClass, LockGraph, lock_graphs};

use lockwright_analysis::all_symbols::AllSymbols;
use lockwright_analysis::model::{Sources, Symbolise};
use process::{Process, processes};

/// The listing to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// Counters of lockdep, and of debugobjects.
    Stats,
    /// Lock classes, how signals matter to them, and what is taken while they are held.
    Classes,
    /// The chains of locks held at once.
    Chains,
    /// Classes and dependencies in the DOT language.
    Graph,
}

/// The listing of a run's ledgers, one per process.
pub fn render(listing: Listing, ledgers: &[Ledger]) -> String {
    render_with(listing, ledgers, &AllSymbols::new(ledgers).each())
}

/// As [`render`], with names from `symbols[i]` for `ledgers[i]`.
pub fn render_with(listing: Listing, ledgers: &[Ledger], symbols: &[&dyn Symbolise]) -> String {
    let sources = Sources::new(ledgers, symbols);
    show(listing, &processes(&sources, ledgers.len()))
}

fn show(listing: Listing, processes: &[Process<'_>]) -> String {
    match listing {
        Listing::Stats => format!("{}\n{}", stats::render(processes), pools::render(processes)),
        Listing::Classes => classes::render(processes),
        Listing::Chains => chains::render(processes),
        Listing::Graph => graph::render(processes),
    }
}
