//! The command line. Long help, man pages and shell completions are generated from here and from
//! [`crate::manual`].

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::error::exit;
use crate::finding::Grade;
use crate::listing::Listing;
use crate::manual;

/// The Linux kernel's locking tools for programs nobody has to rebuild.
///
/// lockwright runs a program with its pthread locks watched, validates the order in which they are
/// taken as the kernel's lockdep does, and reports deadlocks before they happen, with source lines.
#[derive(Debug, Parser)]
#[command(name = "lockwright", version, arg_required_else_help = true, subcommand_required = true)]
#[command(after_long_help = manual::LOCKWRIGHT.help())]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
#[allow(missing_docs, reason = "a comment here would replace the one on the type in the help")]
pub enum Command {
    Check(CheckArgs),
    Report(ReportArgs),
    Demo(DemoArgs),
    /// Prints the cost of an uncontended lock and unlock, in nanoseconds.
    #[command(hide = true)]
    Calibrate,
}

/// Run a program with its locks watched, then report deadlocks that happened or could have.
///
/// The program's standard streams, terminal, signals and exit code pass through untouched; while it
/// runs the tool prints nothing. The report follows on standard error when it ends. A program that
/// really deadlocks is reported while it hangs.
#[derive(Debug, Args)]
#[command(override_usage = "lockwright check [OPTIONS] -- PROGRAM [ARGS]...")]
#[command(after_long_help = manual::CHECK.help())]
pub struct CheckArgs {
    /// Where the report goes and what it decides.
    #[command(flatten)]
    pub output: OutputArgs,

    /// How the program is run.
    #[command(flatten)]
    pub run: RunArgs,

    /// The program to run, looked up in PATH, and its arguments.
    #[arg(required = true, trailing_var_arg = true, help_heading = "Arguments")]
    #[arg(value_name = "PROGRAM", value_hint = clap::ValueHint::CommandWithArguments)]
    pub program: Vec<OsString>,
}

/// Make the report from ledgers that were kept, or that a killed run left behind.
///
/// Works on ledgers of programs that ended, crashed, were killed or still run. Binaries and their
/// debug information are looked up where the program had them.
#[derive(Debug, Args)]
#[command(after_long_help = manual::REPORT.help())]
pub struct ReportArgs {
    /// Where the report goes and what it decides.
    #[command(flatten)]
    pub output: OutputArgs,

    /// What to show in place of the report.
    #[command(flatten)]
    pub listing: ListingArgs,

    /// Ledger files, or directories with ledgers of one run.
    #[arg(required = true, help_heading = "Arguments", value_name = "LEDGER", value_hint = clap::ValueHint::AnyPath)]
    pub ledgers: Vec<PathBuf>,
}

/// Run a shipped multi-threaded program that takes two locks in both orders, and report it.
///
/// The program is a small bank: tellers and an auditor take the same two locks, in opposite orders, at
/// times of day that never met so far. It ends normally; the report tells what will happen one day.
/// Exits with 0 if the planted deadlock was found, and with 1 if it was not.
#[derive(Debug, Args)]
#[command(after_long_help = manual::DEMO.help())]
pub struct DemoArgs {
    /// Where the report goes and what it decides.
    #[command(flatten)]
    pub output: OutputArgs,

    /// How the program is run.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Where the report goes and what it decides.
#[derive(Debug, Args)]
#[command(next_help_heading = "Report")]
pub struct OutputArgs {
    /// Write the report to FILE (`-`: standard output) instead of standard error.
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Also write the report as JSON to FILE (`-`: standard output).
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub json: Option<PathBuf>,

    /// Show findings of the grades guarded, ordered and single-thread too, not just their number.
    #[arg(long)]
    pub all: bool,

    /// The least serious grade that makes the exit code that of a failure.
    #[arg(long, value_name = "GRADE", value_enum, default_value_t = Grade::Likely)]
    pub fail_on: Grade,

    /// Exit code where a finding of failing grade exists; 0: findings do not change the exit code.
    #[arg(long, value_name = "N", default_value_t = exit::FINDING)]
    pub exit_code: u8,

    /// Add lockdep's counters, under the names that the kernel's /proc/lockdep_stats has.
    #[arg(long)]
    pub stats: bool,

    /// Colour the report; `auto`: if it goes to a terminal and NO_COLOR is not set.
    #[arg(long, visible_alias = "colour", value_name = "WHEN", value_enum, default_value_t = Colour::Auto)]
    pub color: Colour,
}

/// What to show in place of the report.
#[derive(Debug, Args)]
#[command(next_help_heading = "In place of the report, to standard output or -o FILE")]
#[group(multiple = false, conflicts_with_all = ["json", "stats"])]
pub struct ListingArgs {
    /// List the lock classes, as the kernel's /proc/lockdep: how many others follow (FD) and precede
    /// (BD) each, what signals mean to it, and what is taken while it is held.
    #[arg(long)]
    pub classes: bool,

    /// List the chains of locks held at once, as the kernel's /proc/lockdep_chains, with places.
    #[arg(long)]
    pub chains: bool,

    /// Draw lock classes and their dependencies in the DOT language: those on a cycle in red, dashed if
    /// only a signal's handler may make it so.
    #[arg(long)]
    pub graph: bool,
}

impl ListingArgs {
    /// The listing asked for, if any.
    pub fn listing(&self) -> Option<Listing> {
        let asked = [
            (self.classes, Listing::Classes),
            (self.chains, Listing::Chains),
            (self.graph, Listing::Graph),
        ];
        asked.into_iter().find(|(asked, _)| *asked).map(|(_, listing)| listing)
    }
}

/// How the program is run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Run")]
pub struct RunArgs {
    /// Keep the ledgers and say where they are, for `lockwright report`.
    #[arg(long)]
    pub keep: bool,

    /// Directory for the ledgers of this run; each run makes its own directory in there.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub ledger_dir: Option<PathBuf>,

    /// Record where each block of the heap is allocated, so that locks that nobody initialises
    /// (`std::mutex`) are told apart by what they are part of, not by where they are first taken. Makes
    /// malloc and free slower.
    #[arg(long)]
    pub track_allocations: bool,

    /// What to do with a process that has really deadlocked, once that is reported.
    #[arg(long, value_name = "ACTION", value_enum, default_value_t = OnDeadlock::Kill)]
    pub on_deadlock: OnDeadlock,
}

/// What to do with a process that has deadlocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnDeadlock {
    /// End it (SIGKILL).
    Kill,
    /// Leave it hanging, for a debugger or until the user ends it.
    Report,
    /// End it with SIGABRT, so that it can leave a core file.
    Abort,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// If it is for a terminal.
    Auto,
    /// Yes.
    Always,
    /// No.
    Never,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn check(args: &[&str]) -> CheckArgs {
        match Cli::try_parse_from(["lockwright", "check"].iter().chain(args)).unwrap().command {
            Command::Check(check) => check,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_programs_options_are_its_own() {
        let args = check(&["--all", "--", "./server", "--all", "-o", "x", "--", "y"]);
        assert!(args.output.all && args.output.output.is_none());
        assert_eq!(args.program, ["./server", "--all", "-o", "x", "--", "y"]);
        // Without the separator too, from the program's name on.
        let args = check(&["./server", "--keep"]);
        assert!(!args.run.keep);
        assert_eq!(args.program, ["./server", "--keep"]);
    }

    #[test]
    fn one_listing_at_a_time() {
        let report =
            |args: &[&str]| Cli::try_parse_from(["lockwright", "report"].iter().chain(args));
        let Command::Report(args) = report(&["--graph", "x.lwl"]).unwrap().command else {
            panic!()
        };
        assert_eq!(args.listing.listing(), Some(Listing::Graph));
        let Command::Report(args) = report(&["--stats", "x.lwl"]).unwrap().command else {
            panic!()
        };
        assert!(args.output.stats && args.listing.listing().is_none());
        assert!(report(&["--graph", "--chains", "x.lwl"]).is_err());
        assert!(report(&["--graph", "--json", "x.json", "x.lwl"]).is_err());
    }

    #[test]
    fn a_mistyped_option_is_not_a_program() {
        assert!(Cli::try_parse_from(["lockwright", "check", "--al", "./server"]).is_err());
        assert!(Cli::try_parse_from(["lockwright", "check"]).is_err());
    }
}
