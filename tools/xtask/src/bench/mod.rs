//! `cargo xtask bench check` and `bench meter`: what `lockwright check` and `lockwright meter`
//! cost, against the same program alone. `bench debugobjects`: what the pools of debugobjects are
//! worth. `bench programs`: whole programs and their memory, compared with Valgrind's tools. `bench
//! swap`: whole programs on other locks. `bench lines`: the cache lines that locks touch under the
//! engines. `bench cost`: whether reports say the truth about what the tool took.
//!
//! Runs are short (a fraction of a second) and many, the arms interleaved, so that what disturbs
//! the machine hits both alike; what counts is the ratio within each pair. The time is taken by the
//! program itself, hence without its start and without the report afterwards, wherever it can tell.

mod apt;
mod arm;
mod callgrind;
mod cost;
mod debugobjects;
mod in_tables;
mod lines;
mod listings;
mod mariadb;
mod memcached;
mod meter;
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

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use lockwright_measure::stats;
use serde_json::{Map, Value};

use arm::{Arm, Bench};
pub use cost::CostOptions;
pub use peers::PeersOptions;
pub use simulated::SimulatedOptions;
use table::{Line, Results};
pub use tables::TablesOptions;
use workload::Workload;

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
    /// The tables of five sets of kernel patches, published next to measured: docs/lab/tables.md.
    Tables(TablesOptions),
    /// The locks compared with those of C and C++ libraries, which are built first:
    /// docs/lab/bench/peers.md.
    Peers(PeersOptions),
    /// The published tables compared with simulated ones, and machines larger than this one: docs/lab/simulated.md.
    Simulated(SimulatedOptions),
}

/// Options of a comparison.
#[derive(Debug, Args)]
pub struct BenchOptions {
    /// Two short rounds of everything: do the benchmarks still run? The figures mean nothing.
    #[arg(long)]
    pub smoke: bool,

    /// Pairs of runs for each line.
    #[arg(long, value_name = "N", default_value_t = 21, value_parser = clap::value_parser!(u16).range(1..))]
    pub rounds: u16,

    /// Only lines whose name contains TEXT.
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,

    /// Also write the results as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// The tool to measure instead of one built here for release.
    #[arg(long, value_name = "FILE")]
    pub lockwright: Option<PathBuf>,
}

impl BenchOptions {
    /// `--smoke` and nothing else.
    pub fn smoke() -> Self {
        Self { smoke: true, rounds: 2, only: None, json: None, lockwright: None }
    }
}

type Measure = fn(&'static Bench, &BenchOptions) -> Result<(), String>;

/// Runs the benchmark.
///
/// # Errors
/// When something that is installed does not run to its end.
pub fn run(args: &BenchArgs) -> Result<(), String> {
    let (options, measure): (_, Measure) = match &args.what {
        What::Check(options) => (options, check),
        What::Meter(options) => (options, meter::run),
        What::Debugobjects(options) => (options, debugobjects::run),
        What::Programs(options) => (options, programs::run),
        What::Swap(options) => (options, swapped::run),
        What::Lines(options) => (options, lines::run),
        What::Listings(options) => (options, listings::run),
        What::Cost(CostOptions { common, write: true }) => (common, cost::write),
        What::Cost(CostOptions { common, .. }) => (common, cost::run),
        What::Tables(options) => return tables::run(options),
        What::Peers(options) => return peers::run(options),
        What::Simulated(options) => return simulated::run(options),
    };
    let lockwright = match &options.lockwright {
        Some(file) => file.canonicalize().map_err(|e| format!("{}: {e}", file.display()))?,
        None => crate::builds::release_build()?,
    };
    let work = workload::fresh_folder(crate::workspace::target_dir().join("bench"))?;
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

/// Writes the results where they are wanted for machines.
fn conclude(options: &BenchOptions, json: &Value, is_complete: bool) -> Result<(), String> {
    if let Some(file) = &options.json {
        write(file, &format!("{json:#}\n"))?;
    }
    // On a developer's machine a package may be missing; where all are installed, a gap is a broken
    // benchmark.
    if std::env::var_os("LOCKWRIGHT_CI").is_some() && !is_complete {
        return Err("with LOCKWRIGHT_CI=1 nothing may be skipped".to_owned());
    }
    Ok(())
}

/// Compares the second of a workload's two arms with the first.
fn compare(workload: &mut Workload, arms: [Arm; 2], rounds: usize) -> Result<Line, String> {
    let (mut native, mut check) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        // The arms alternate in going first: the second may find warmer caches, or a hotter
        // processor.
        let order = if round % 2 == 0 { arms } else { [arms[1], arms[0]] };
        for arm in order {
            let value = (workload.measure)(arm).map_err(|e| format!("{}: {e}", workload.name))?;
            if arm == arms[0] { native.push(value) } else { check.push(value) }
        }
    }
    let ratios: Vec<f64> = native.iter().zip(&check).map(|(n, c)| c / n).collect();
    Ok(Line {
        name: workload.name.clone(),
        unit: workload.unit,
        native: stats::median(&native),
        check: stats::median(&check),
        ratio: stats::estimate(&ratios),
        aim: workload.aim,
        rounds,
    })
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|e| format!("{}: {e}", file.display()))
}

/// What this runs on, and what it measures with.
fn machine() -> Map<String, Value> {
    const PACKAGES: &[&str] = &[
        "kyotocabinet-utils",
        "rocksdb-tools",
        "libsqlite3-0",
        "memcached",
        "mariadb-server",
        "sysbench",
        "xz-utils",
        "zstd",
        "pigz",
        "python3",
        "bpftrace",
        "valgrind",
        "clang",
    ];
    let facts = lockwright_measure::machine::describe(PACKAGES);
    facts.into_iter().map(|(name, value)| (name, Value::String(value))).collect()
}
