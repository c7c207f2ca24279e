//! `lockwright-lab sim`: a machine, locks, and what threads do with them.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use super::{ExploreArgs, OutputArgs};
use crate::manual;

/// Run locks of the lockwright family on a simulated machine.
///
/// The locks' own code runs in virtual time: sockets, cores and their caches, a scheduler and, with
/// --vcpus, a hypervisor are simulated. The same command gives the same figures to the last digit.
/// docs/lab/simulator.md says what is modelled, and how far the figures are from those that were
/// published: compare locks with it, and trust no absolute figure.
///
/// With --explore there is no machine: locks are tested under schedules that would hardly ever come
/// of themselves.
///
/// Locks are lockwright's own, or yours, of a library that --lock-library names.
#[derive(Debug, Args)]
#[command(after_long_help = manual::SIM.help(), mut_arg("output", super::of_table))]
pub struct SimArgs {
    /// Where the figures go.
    #[command(flatten)]
    pub output: OutputArgs,

    /// List machines, workloads and locks instead.
    #[arg(long)]
    pub list: bool,

    /// Compare with what was published instead; the microbenchmark's runs are this long, in virtual
    /// seconds.
    #[arg(long, value_name = "SECONDS", value_parser = virtual_seconds, num_args = 0..=1)]
    #[arg(require_equals = true, default_missing_value = "0.2", help_heading = "Simulation")]
    pub truth: Option<f64>,

    /// The machine: a name that --list shows, or a TOML file (with a `/` or `.toml` in its name).
    #[arg(long, value_name = "NAME|FILE", default_value = "e5-2699v3")]
    #[arg(help_heading = "Simulation")]
    pub machine: String,

    /// Print the machine's file instead, to be changed.
    #[arg(long, help_heading = "Simulation")]
    pub print_machine: bool,

    /// What the threads do: a name that --list shows.
    #[arg(long, value_name = "NAME", default_value = "micro", help_heading = "Simulation")]
    pub workload: String,

    /// The locks, by the names that --list shows [default: hybrid,pvqlock,unfair; with --lock-library:
    /// the library's; of a workload with locks of its own, all; with --explore: `all` that are sound].
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', help_heading = "Simulation")]
    pub lock: Option<Vec<String>>,

    /// A shared object with your locks, which --lock can then name as well as lockwright's own, also
    /// with --explore. Write it against lockwright/sim.h in C, or `lockwright::lock_library` in Rust:
    /// docs/lab/simulator.md shows how. You can give this option several times.
    #[arg(long, value_name = "FILE", help_heading = "Simulation")]
    pub lock_library: Vec<PathBuf>,

    /// Numbers of threads, one run each [default: one for each CPU that is used; with --explore: 4].
    #[arg(long, value_name = "N,...", value_delimiter = ',', help_heading = "Simulation")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MOST_THREADS), conflicts_with = "vcpus")]
    pub threads: Option<Vec<u32>>,

    /// Numbers of virtual CPUs, one run each, below a hypervisor: a thread on each.
    #[arg(long, value_name = "N,...", value_delimiter = ',', help_heading = "Simulation")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MOST_THREADS))]
    pub vcpus: Option<Vec<u32>>,

    /// Use only the first N CPUs of the machine.
    #[arg(long, value_name = "N", help_heading = "Simulation", conflicts_with = "sweep")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MOST_THREADS))]
    pub cpus: Option<u32>,

    /// Runs on more and more CPUs, doubled each time, with a thread on each: `cpus=FROM..TO`.
    #[arg(long, value_name = "cpus=FROM..TO", help_heading = "Simulation")]
    #[arg(conflicts_with_all = ["threads", "vcpus"])]
    pub sweep: Option<CpuSweep>,

    /// How long each run is, in virtual seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.02, value_parser = virtual_seconds)]
    #[arg(help_heading = "Simulation")]
    pub seconds: f64,

    /// Seed of all random decisions.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Simulation")]
    pub seed: u64,

    /// Show the memory traffic of each run, place by place.
    #[arg(long, help_heading = "Simulation")]
    pub traffic: bool,

    /// Also draw the runs there, as SVG: operations a second over CPUs, a line for each lock.
    #[arg(long, value_name = "FILE.svg", help_heading = "Simulation")]
    pub plot: Option<PathBuf>,

    /// The search for faults.
    #[command(flatten)]
    pub explore: ExploreArgs,
}

/// As many as the simulator has room for.
const MOST_THREADS: i64 = 1024;

/// From one number of CPUs to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuSweep {
    from: u32,
    to: u32,
}

impl CpuSweep {
    /// The numbers of CPUs, doubled each time; the last is the greatest.
    pub fn numbers(self) -> Vec<u32> {
        let below = std::iter::successors(Some(self.from), |n| n.checked_mul(2));
        below.take_while(|n| *n < self.to).chain([self.to]).collect()
    }
}

impl FromStr for CpuSweep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let range = text.strip_prefix("cpus=").and_then(|range| range.split_once(".."));
        let number =
            |text: &str| text.parse().ok().filter(|n| (1..=MOST_THREADS).contains(&i64::from(*n)));
        let sweep =
            range.and_then(|(from, to)| Some(Self { from: number(from)?, to: number(to)? }));
        sweep.filter(|sweep| sweep.from <= sweep.to).ok_or_else(|| {
            format!("write `cpus=FROM..TO`, from 1 to {MOST_THREADS}, as in cpus=1..144")
        })
    }
}

fn virtual_seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (1e-6..=3600.0).contains(seconds));
    seconds.ok_or_else(|| "must be a number from 0.000001 to 3600".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweeps_double_and_reach_their_end() {
        let numbers = |text: &str| text.parse::<CpuSweep>().map(CpuSweep::numbers);
        assert_eq!(numbers("cpus=1..144"), Ok(vec![1, 2, 4, 8, 16, 32, 64, 128, 144]));
        assert_eq!(numbers("cpus=3..6"), Ok(vec![3, 6]));
        assert_eq!(numbers("cpus=8..8"), Ok(vec![8]));
        for wrong in ["1..4", "cpus=4..1", "cpus=0..4", "cpus=1..2000", "cpus=1", "cpus=..4"] {
            assert!(numbers(wrong).is_err(), "{wrong}");
        }
    }
}
