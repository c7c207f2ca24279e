//! Listings of the records, as the kernel shows them in /proc/lockdep, /proc/lockdep_chains,
//! /proc/lockdep_stats and debug_objects/stats, and as a graph: for users who want to see what the
//! report rests on.

mod chains;
mod classes;
mod graph;
mod lock_graph;
mod pools;
mod stats;
mod value;

use lockwright_ledger::Ledger;

pub use lock_graph::{Dependency, LockClass, LockGraph, lock_graphs};

use lockwright_analysis::all_symbols::AllSymbols;
use lockwright_analysis::dependencies::Dependencies;
use lockwright_analysis::model::{Model, Sources, Symbolise};

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

/// One process and its dependencies.
struct Process<'a> {
    /// Its place among the ledgers.
    index: usize,
    model: Model<'a>,
    dependencies: Dependencies,
}

impl Process<'_> {
    /// Process id and program.
    fn title(&self) -> String {
        let header = self.model.ledger.header();
        format!("process {} ({})", header.pid, self.model.ledger.text(header.exe))
    }
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

fn processes<'a>(sources: &Sources<'a>, count: usize) -> Vec<Process<'a>> {
    let process = |index| {
        let model = Model::new(sources, index);
        let dependencies = Dependencies::new(&model);
        Process { index, model, dependencies }
    };
    (0..count).map(process).collect()
}
