//! The command line. Long help, man pages and shell completions are generated from here and from
//! [`crate::manual`].

mod explore;
mod sim;
mod sweep;
mod torture;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use lockwright_console::args::{Colour, OutputArgs, of_table, seconds};

pub use explore::ExploreArgs;
pub use sim::SimArgs;
pub use sweep::{Hog, SweepArgs, SweepOver};
pub use torture::TortureArgs;

use crate::manual;

/// Judge locks: measure them, torture them, and simulate them on machines that you do not have.
///
/// The locks are those of the lockwright family, of glibc, Rust and other libraries, and yours.
#[derive(Debug, Parser)]
// The name in usage lines does not depend on the file's name.
#[command(name = "lockwright-lab", bin_name = "lockwright-lab")]
#[command(version, arg_required_else_help = true, subcommand_required = true)]
#[command(after_long_help = manual::LAB.help())]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
#[allow(missing_docs, reason = "a comment here would replace the one on the type in the help")]
pub enum Command {
    Bench(BenchArgs),
    Torture(TortureArgs),
    Sim(SimArgs),
}

impl Command {
    /// When the user wants colours.
    pub fn colour(&self) -> Colour {
        let output = match self {
            Self::Bench(args) => match &args.what {
                Bench::Locks(args) => &args.output,
                Bench::Tables(args) => &args.output,
            },
            Self::Torture(args) => &args.output,
            Self::Sim(args) => &args.output,
        };
        output.color
    }
}

/// Measure locks on this machine, and compare them with other locks and with published figures.
///
/// The locks of a comparison take turns in each round, so that a disturbance hits all alike. The
/// results are medians and ratios.
#[derive(Debug, Args)]
#[command(after_long_help = manual::BENCH.help())]
pub struct BenchArgs {
    /// What is measured.
    #[command(subcommand)]
    pub what: Bench,
}

/// What `lockwright-lab bench` measures.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// Measure the locks of the lockwright family: uncontended, and spinlocks with more threads than
    /// CPUs. The sections `mutexes` and `rwlocks` compare them with the best other locks. Takes some
    /// minutes.
    Locks(Box<BenchLocksArgs>),
    /// Re-run five published kernel benchmarks on this machine, and show which results agree.
    ///
    /// Some tables need libraries and programs that `cargo xtask bench tables` builds in a source
    /// tree, and passes as --parts. Without them, their rows say so.
    Tables(BenchTablesArgs),
}

/// How `lockwright-lab bench locks` measures.
#[derive(Debug, Args)]
pub struct BenchLocksArgs {
    /// Where the figures go.
    #[command(flatten)]
    pub output: OutputArgs,

    /// Rounds, in each of which all arms take turns; 7, and 10 with `--sweep full`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub rounds: Option<u16>,

    /// How long the threads of one arm lock in one round where throughput is measured. Comparisons
    /// of more arms take a tenth of it, those of mutexes and rwlocks a fiftieth.
    #[arg(long, visible_alias = "seconds", value_name = "SECONDS", default_value_t = 5.0)]
    #[arg(value_parser = seconds)]
    pub interval: f64,

    /// Only sections and locks whose name contains TEXT.
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,

    /// Also show the lock events of over-commit, under the names that the kernel has in
    /// lock_event_counts.
    #[arg(long)]
    pub events: bool,

    /// Two short rounds of everything: does it run here? The figures mean nothing.
    #[arg(long, conflicts_with_all = ["rounds", "interval"])]
    pub smoke: bool,

    /// What the sections `mutexes` and `rwlocks` sweep over.
    #[command(flatten)]
    pub sweep: SweepArgs,
}

/// How `lockwright-lab bench tables` measures.
#[derive(Debug, Args)]
pub struct BenchTablesArgs {
    /// Where the page goes, as Markdown.
    #[command(flatten)]
    pub output: OutputArgs,

    /// Only this document.
    #[arg(long, value_name = "DOCUMENT", value_parser = clap::value_parser!(u8).range(0..=4))]
    pub only: Option<u8>,

    /// Rounds, in each of which all arms take turns.
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..))]
    pub rounds: u16,

    /// How long the threads of one arm lock in one round where throughput is measured.
    #[arg(long, visible_alias = "seconds", value_name = "SECONDS", default_value_t = 5.0)]
    #[arg(value_parser = seconds)]
    pub interval: f64,

    /// Two short rounds of everything: does it run here? The figures mean nothing.
    #[arg(long, conflicts_with_all = ["rounds", "interval"])]
    pub smoke: bool,

    /// Also draw the comparisons into this directory, as SVG: published and measured figures, and
    /// their intervals.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub plot: Option<PathBuf>,

    /// Where the libraries and programs are that some tables run.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub parts: Option<PathBuf>,

    /// The `lockwright` that some tables run; without the option, the one next to this program.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::ExecutablePath)]
    pub lockwright: Option<PathBuf>,

    /// Fail if anything could not be measured.
    #[arg(long)]
    pub complete: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
