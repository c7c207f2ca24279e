//! Long's 2019 debugobjects patches: the pools under a build, before and after the patches.

use lockwright_lab::bench::published::{POOLS, Pools};
use lockwright_sim::workload::Figures;

use super::{Runner, Source, Truth};

const DOCUMENT: Source = Source::Document(1);

/// One run's length as a multiple of the others': jobs last for half a second.
const PART: f64 = 10.0;
/// The machine, and its threads.
const MACHINE: (&str, u32) = ("e5-2699v3-smt", 72);

pub fn run(runner: &mut Runner, truth: &mut Truth) {
    let (machine, threads) = MACHINE;
    let Pools { elapsed, system, allocated } = POOLS;
    let published = allocated.map(|objects| objects as f64);
    let [before, after] =
        ["before", "after"].map(|name| runner.run(machine, "pools", name, threads, false, PART));
    let allocated = |figures: &Figures| figures.more[0].1;
    let saved = 100.0 * (1.0 - before.rate() / after.rate());
    let mut row = |what: &str, published: f64, simulated: f64, is_fitted| {
        truth.amount(DOCUMENT, what.to_owned(), published, simulated, is_fitted);
    };
    row(
        "objs_allocated a second, before",
        published[0] / (3.0 * elapsed[0]),
        allocated(&before),
        true,
    );
    row(
        "system time saved by the patches, % of the CPUs' time",
        100.0 * (system[0] - system[1]) / (elapsed[0] * f64::from(threads)),
        saved,
        true,
    );
    row(
        "elapsed time saved by the patches, %",
        100.0 * (1.0 - elapsed[1] / elapsed[0]),
        saved,
        false,
    );
    truth.ratio(
        DOCUMENT,
        "objs_allocated, before over after".to_owned(),
        published[0] / published[1],
        // In a very short run the slab gives nothing after them.
        allocated(&before) / allocated(&after).max(1.0),
        false,
    );
}
