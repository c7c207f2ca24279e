//! `cargo xtask bench check` and `bench meter`: what `lockwright check` and `lockwright meter`
//! cost, against the same program alone. `bench debugobjects`: what the pools of debugobjects are
//! worth. `bench programs`: whole programs and their memory, compared with Valgrind's tools. `bench
//! swap`: whole programs on other locks. `bench lines`: the cache lines that locks touch under the
//! engines. `bench cost`: whether reports say the truth about what the tool took. `bench births`:
//! what is short-lived. `bench account`: where the cost of that goes.
//!
//! Runs are short (a fraction of a second) and many, the arms interleaved, so that what disturbs
//! the machine hits both alike; what counts is the ratio within each pair. The time is taken by the
//! program itself, hence without its start and without the report afterwards, wherever it can tell.

mod account;
mod apt;
mod arm;
mod births;
mod callgrind;
mod comparison;
mod cost;
mod debugobjects;
mod fresh_folder;
mod in_tables;
mod lines;
mod listings;
mod live;
mod mariadb;
mod memcached;
mod meter;
mod pages;
mod parts;
mod peers;
mod programs;
mod server;
mod simulated;
mod sources;
mod swapped;
mod switches;
mod table;
mod tables;
mod usage;
mod whole;
mod workload;

use clap::{Args, Subcommand};

pub use account::AccountOptions;
use arm::{Arm, Bench};
pub use births::BirthsOptions;
pub use comparison::BenchOptions;
use comparison::{compare, conclude, machine};
pub use cost::CostOptions;
pub use peers::PeersOptions;
pub use simulated::SimulatedOptions;
use table::Results;
pub use tables::TablesOptions;
pub use usage::TICK;

/// Measures what the tool costs.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// What to measure.
    #[command(subcommand)]
    pub what: What,
}

/// What to measure.
#[derive(Debug, Subcommand)]
pub enum What {
    /// Native against `lockwright check`: lock pairs, lock-saturated programs, memcached, MariaDB.
    Check(BenchOptions),
    /// Native against `lockwright meter`, exact and sampled, bpftrace and Helgrind.
    Meter(BenchOptions),
    /// `lockwright meter` alone against `meter` with `top`, `--timeline` and `--push`: docs/bench/live.md.
    Live(BenchOptions),
    /// The patches of debugobjects' pools, one by one; native against `lockwright check` in
    /// programs that allocate and free a lot.
    Debugobjects(BenchOptions),
    /// Whole programs and their memory: native against `lockwright check`, `meter` and `run`,
    /// Helgrind and DRD.
    Programs(BenchOptions),
    /// Whole programs on locks of the family, by `lockwright swap`, against glibc's.
    Swap(BenchOptions),
    /// The cache lines that locks touch under the engines, and which of them threads share.
    Lines(BenchOptions),
    /// How recording, reports and listings grow with the number of lock classes: docs/bench/listings.md.
    Listings(BenchOptions),
    /// What reports say the tool took, compared with what it took: docs/bench/cost.md.
    Cost(CostOptions),
    /// What new locks, short threads, children and Python cost: docs/bench/births.md.
    Births(BirthsOptions),
    /// Where the cost of new locks, short threads and children goes, in counts that add up: docs/bench/account.md.
    Account(AccountOptions),
    /// The tables of five sets of kernel patches, published next to measured: docs/lab/tables.md.
    Tables(TablesOptions),
    /// The locks compared with those of C and C++ libraries, which are built first:
    /// docs/lab/bench/peers.md.
    Peers(PeersOptions),
    /// The published tables compared with simulated ones, and machines larger than this one: docs/lab/simulated.md.
    Simulated(SimulatedOptions),
}

type Measure<'a> = Box<dyn Fn(&'static Bench, &BenchOptions) -> Result<(), String> + 'a>;

/// Runs the benchmark.
///
/// # Errors
/// When something that is installed does not run to its end.
pub fn run(args: &BenchArgs) -> Result<(), String> {
    let (options, measure): (_, Measure<'_>) = match &args.what {
        What::Check(options) => (options, Box::new(check)),
        What::Meter(options) => (options, Box::new(meter::run)),
        What::Live(options) => (options, Box::new(live::run)),
        What::Debugobjects(options) => (options, Box::new(debugobjects::run)),
        What::Programs(options) => (options, Box::new(programs::run)),
        What::Swap(options) => (options, Box::new(swapped::run)),
        What::Lines(options) => (options, Box::new(lines::run)),
        What::Listings(options) => (options, Box::new(listings::run)),
        What::Cost(CostOptions { common, write: true }) => (common, Box::new(cost::write)),
        What::Cost(CostOptions { common, .. }) => (common, Box::new(cost::run)),
        What::Births(options) => {
            (&options.common, Box::new(|bench, _| births::run(bench, options)))
        }
        What::Account(options) => {
            (&options.common, Box::new(|bench, _| account::run(bench, options)))
        }
        What::Tables(options) => return tables::run(options),
        What::Peers(options) => return peers::run(options),
        What::Simulated(options) => return simulated::run(options),
    };
    let lockwright = match &options.lockwright {
        Some(file) => file.canonicalize().map_err(|e| format!("{}: {e}", file.display()))?,
        None => crate::builds::release_build(options.smoke)?,
    };
    let work = fresh_folder::fresh_folder(crate::workspace::target_dir().join("bench"))?;
    // The closures of the workloads refer to it until the process ends.
    let bench: &'static Bench =
        Box::leak(Box::new(Bench { lockwright, work, smoke: options.smoke }));
    measure(bench, options)
}

fn check(bench: &'static Bench, options: &BenchOptions) -> Result<(), String> {
    let rounds = if options.smoke { 2 } else { usize::from(options.rounds) };
    let wanted = |name: &str| options.only.as_ref().is_none_or(|text| name.contains(text.as_str()));

    let mut results = Results::new(machine());
    let checked = workload::all(bench, &wanted, &[Arm::Native, Arm::Check]);
    let candidates = checked.into_iter().map(|candidate| (Arm::Check, candidate));
    for (arm, candidate) in candidates.chain(workload::forks(bench, &wanted)) {
        match candidate {
            Ok(mut workload) => {
                eprintln!("{} ...", workload.name);
                results.lines.push(compare(&mut workload, [Arm::Native, arm], rounds)?);
            }
            Err((name, why)) => results.skipped.push((name, why)),
        }
    }
    if wanted("instructions") {
        eprintln!("instructions ...");
        match callgrind::count(bench) {
            Ok(counts) => results.counts = counts,
            Err(why) => results.skipped.push(("instructions".to_owned(), why)),
        }
    }
    if wanted("switches") {
        match switches::measure(bench, rounds) {
            Ok(switches) => results.switches = Some(switches),
            Err(why) => results.skipped.push(("switches".to_owned(), why)),
        }
    }

    print!("{}", results.text());
    conclude(options, &results.json(), results.skipped.is_empty())?;
    results.switches.as_ref().map_or(Ok(()), switches::Switches::judge)
}
