//! Whether the benchmarks still run. Their figures mean nothing here.

use super::Extent;
use crate::bench::{self, BenchOptions, What};

/// A benchmark, run shortly.
type Smoke = fn() -> What;

const SMOKES: &[Smoke] = &[
    || What::Check(BenchOptions::smoke()),
    || What::Programs(BenchOptions::smoke()),
    || What::Swap(BenchOptions::smoke()),
    || What::Meter(BenchOptions::smoke()),
    || What::Live(BenchOptions::smoke()),
    || What::Lines(BenchOptions::smoke()),
    || What::Cost(bench::CostOptions { common: BenchOptions::smoke(), write: false }),
    || What::Births(bench::BirthsOptions::smoke()),
    || What::Account(bench::AccountOptions::smoke()),
    || What::Debugobjects(BenchOptions::smoke()),
    || What::Simulated(bench::SimulatedOptions::smoke()),
    || What::Tables(bench::TablesOptions::smoke()),
    || What::Peers(bench::PeersOptions::smoke()),
];

/// In so many parts they take turns.
const PARTS: usize = 5;

/// Runs those whose turn it is.
///
/// # Errors
/// When one does not run to its end.
pub fn run(extent: Extent) -> Result<(), String> {
    let due = SMOKES.iter().enumerate().filter(|(part, _)| extent.has(*part, PARTS));
    due.map(|(_, smoke)| smoke()).try_for_each(|what| bench::run(&bench::BenchArgs { what }))
}
