//! Document 1: debugobjects' pools below a build, before and after the patches.

use lockwright_sim::workload::Figures;

use super::{Runner, Source, Truth};

const DOCUMENT: Source = Source::Document(1);

/// One run's length as a multiple of the others': jobs last for half a second.
const PART: f64 = 10.0;
/// The machine, and its threads.
const MACHINE: (&str, u32) = ("e5-2699v3-smt", 72);
/// Of a build, in seconds: elapsed, and the system's, before and after.
const ELAPSED: [f64; 2] = [291.01, 287.45];
const SYSTEM: [f64; 2] = [4_991.53, 4_825.78];
/// objs_allocated after three builds.
const ALLOCATED: [f64; 2] = [34_954_917.0, 5_796_864.0];

pub fn run(runner: &mut Runner, truth: &mut Truth) {
    let (machine, threads) = MACHINE;
    let [before, after] =
        ["before", "after"].map(|name| runner.run(machine, "pools", name, threads, false, PART));
    let allocated = |figures: &Figures| figures.more[0].1;
    let saved = 100.0 * (1.0 - before.rate() / after.rate());
    let mut row = |what: &str, published: f64, simulated: f64, is_fitted| {
        truth.row(DOCUMENT, what.to_owned(), published, simulated, is_fitted);
    };
    row(
        "objs_allocated a second, before",
        ALLOCATED[0] / (3.0 * ELAPSED[0]),
        allocated(&before),
        true,
    );
    row(
        "system time saved by the patches, % of the CPUs' time",
        100.0 * (SYSTEM[0] - SYSTEM[1]) / (ELAPSED[0] * f64::from(threads)),
        saved,
        true,
    );
    row(
        "elapsed time saved by the patches, %",
        100.0 * (1.0 - ELAPSED[1] / ELAPSED[0]),
        saved,
        false,
    );
    row(
        "objs_allocated, before over after",
        ALLOCATED[0] / ALLOCATED[1],
        // In a very short run the slab gives nothing after them.
        allocated(&before) / allocated(&after).max(1.0),
        false,
    );
}
