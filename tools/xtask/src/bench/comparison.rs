//! What all comparisons of arms share: their options, the machine, the rounds, and where results go.

use std::path::{Path, PathBuf};

use clap::Args;
use lockwright_measure::stats;
use serde_json::{Map, Value};

use super::arm::Arm;
use super::table::Line;
use super::workload::Workload;

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

/// Writes the results where they are wanted for machines.
pub fn conclude(options: &BenchOptions, json: &Value, is_complete: bool) -> Result<(), String> {
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
pub fn compare(workload: &mut Workload, arms: [Arm; 2], rounds: usize) -> Result<Line, String> {
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

pub fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|e| format!("{}: {e}", file.display()))
}

/// What this runs on, and what it measures with.
pub fn machine() -> Map<String, Value> {
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
