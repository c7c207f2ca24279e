//! The command line. Long help, man pages and shell completions are generated from here and from
//! [`crate::manual`].

mod swap;
mod tune;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use lockwright_console::args::{Colour, OutputArgs};
pub use swap::SwapArgs;
pub use tune::{MetricArgs, Pattern, TuneArgs};

use crate::manual;
use lockwright_analysis::finding::Grade;
use lockwright_console::args::seconds;
use lockwright_console::error::exit;
use lockwright_report::listing::Listing;
use lockwright_report::lockmeter::diff::FailIf;
use lockwright_report::lockmeter::folded::Folded;
use lockwright_report::lockmeter::view::{Compat, Sort, View};

/// The Linux kernel's locking tools for programs nobody has to rebuild.
///
/// lockwright runs a program with its pthread locks watched. It validates the order in which they
/// are taken as the kernel's lockdep does, and reports deadlocks before they happen, with source
/// lines; and it measures, as the kernel's lockmeter did, which lock and which caller cost the
/// time.
#[derive(Debug, Parser)]
// Whatever the file is called that was run: usage lines are the same in each place that has them.
#[command(name = "lockwright", bin_name = "lockwright")]
#[command(version, arg_required_else_help = true, subcommand_required = true)]
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
    Meter(MeterArgs),
    Run(BothArgs),
    Swap(SwapArgs),
    Report(ReportArgs),
    Merge(MergeArgs),
    Diff(DiffArgs),
    Doctor(DoctorArgs),
    Demo(DemoArgs),
    Tune(TuneArgs),
    /// Prints the cost of an uncontended lock and unlock, in nanoseconds.
    #[command(hide = true)]
    Calibrate,
}

impl Command {
    /// The user's choice of colours.
    pub fn colour(&self) -> Colour {
        let output = match self {
            Self::Check(args) => &args.output,
            Self::Meter(args) => &args.output,
            Self::Run(args) => &args.output,
            Self::Swap(args) => &args.output,
            Self::Report(args) => &args.output,
            Self::Merge(args) => &args.output,
            Self::Diff(args) => &args.output,
            Self::Doctor(args) => &args.output,
            Self::Demo(args) => &args.output,
            Self::Tune(args) => &args.output,
            Self::Calibrate => return Colour::Auto,
        };
        output.color
    }
}

/// Run a program with its locks watched, then report deadlocks that happened or could have.
///
/// The program's standard streams, terminal, signals and exit code pass through untouched; while it
/// runs the tool prints nothing. The report follows on standard error when it ends. A program that
/// really deadlocks is reported while it hangs.
#[derive(Debug, Args)]
#[command(
    override_usage = "lockwright check [OPTIONS] -- PROGRAM [ARGS]...\n       lockwright check [OPTIONS] --pid PID"
)]
#[command(after_long_help = manual::CHECK.help())]
pub struct CheckArgs {
    /// Run nothing, but look at process PID as it is, without stopping it: which threads wait for
    /// which now, and whether that ever ends. Orders that could deadlock another time are not seen.
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(conflicts_with_all = ["program", "html", "sarif", "junit", "markdown", "github", "suppressions", "gen_suppressions", "baseline", "write_baseline", "stats", "keep", "ledger_dir", "track_allocations", "hang_after", "no_objects"])]
    pub pid: Option<u32>,

    /// Where the report goes.
    #[command(flatten)]
    pub output: OutputArgs,

    /// The report as a page.
    #[command(flatten)]
    pub page: PageArgs,

    /// What is missing, and what that decides.
    #[command(flatten)]
    pub whole: WholeArgs,

    /// What is found, and what that decides.
    #[command(flatten)]
    pub verdict: VerdictArgs,

    /// How the program is run.
    #[command(flatten)]
    pub run: RunArgs,

    /// What the checkers do.
    #[command(flatten)]
    pub checkers: CheckersArgs,

    /// The program to run, looked up in PATH, and its arguments.
    #[arg(required_unless_present = "pid", trailing_var_arg = true, help_heading = "Arguments")]
    #[arg(value_name = "PROGRAM", value_hint = clap::ValueHint::CommandWithArguments)]
    pub program: Vec<OsString>,
}

/// What is of programs that lockwright starts with its library.
const PRELOADED: [&str; 14] = [
    "html",
    "allow_incomplete",
    "sort",
    "min_con",
    "min_util",
    "folded",
    "pprof",
    "openmetrics",
    "hold",
    "instances",
    "keep",
    "ledger_dir",
    "track_allocations",
    "follow",
];

/// Run a program and measure its locks: which lock, which caller, held by whom, for how long.
///
/// Every acquisition is counted and every wait timed, at every place that takes a lock; each wait
/// is charged to the holders that caused it. Condition, semaphore, barrier and join waits are
/// measured too. The program's standard streams, signals and exit code pass through; the report
/// follows on standard error when it ends. lockdep does not run: it costs less than `run`.
#[derive(Debug, Args)]
#[command(
    override_usage = "lockwright meter [OPTIONS] -- PROGRAM [ARGS]...\n       lockwright meter [OPTIONS] --kernel [-- PROGRAM [ARGS]...]\n       lockwright meter [OPTIONS] <--pid PID|--system>"
)]
#[command(after_long_help = manual::METER.help())]
#[command(group = clap::ArgGroup::new("traced").args(["kernel", "pid", "system"]).multiple(false))]
pub struct MeterArgs {
    /// Measure the kernel's own locks, by its events of contention (eBPF): which lock, which
    /// caller, who waited. With a PROGRAM while that runs, else to Ctrl-C. Needs root, or CAP_BPF
    /// and CAP_PERFMON.
    #[arg(long, help_heading = "By the kernel", conflicts_with_all = PRELOADED)]
    pub kernel: bool,

    /// With --kernel: show each so many seconds what was waited for since the last time, as `top`
    /// does, and the whole at the end.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, requires = "kernel")]
    #[arg(help_heading = "By the kernel", conflicts_with_all = ["pid", "system"])]
    pub interval: Option<f64>,

    /// Measure the futexes of process PID as it runs, by its system calls (eBPF), until it ends or
    /// to Ctrl-C: which lock, where it was waited for, who woke. Needs the same.
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(help_heading = "By the kernel", conflicts_with_all = PRELOADED, conflicts_with = "program")]
    pub pid: Option<u32>,

    /// The same of all processes.
    #[arg(long, help_heading = "By the kernel", conflicts_with_all = PRELOADED)]
    pub system: bool,

    /// Measure the PROGRAM's locks as usual, and the kernel's own that its threads wait for, and
    /// show all in one table. Needs the same.
    #[arg(long, help_heading = "By the kernel", conflicts_with_all = ["traced", "compat"])]
    pub with_kernel: bool,

    /// End the measurement after so long.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, requires = "traced")]
    #[arg(help_heading = "By the kernel")]
    pub seconds: Option<f64>,

    /// Where the report goes.
    #[command(flatten)]
    pub output: OutputArgs,

    /// The report as a page.
    #[command(flatten)]
    pub page: PageArgs,

    /// What is missing, and what that decides.
    #[command(flatten)]
    pub whole: WholeArgs,

    /// What it shows of the measurement.
    #[command(flatten)]
    pub view: ViewArgs,

    /// What is measured.
    #[command(flatten)]
    pub metering: MeteringArgs,

    /// How the program is run.
    #[command(flatten)]
    pub run: RunArgs,

    /// The program to run, looked up in PATH, and its arguments.
    #[arg(required_unless_present = "traced", trailing_var_arg = true, help_heading = "Arguments")]
    #[arg(value_name = "PROGRAM", value_hint = clap::ValueHint::CommandWithArguments)]
    pub program: Vec<OsString>,
}

/// Run a program with its locks both watched and measured: `check` and `meter` at once.
///
/// Both reports follow when it ends, what was found before what was measured. The exit code is that
/// of `check`.
#[derive(Debug, Args)]
#[command(override_usage = "lockwright run [OPTIONS] -- PROGRAM [ARGS]...")]
#[command(after_long_help = manual::RUN.help())]
pub struct BothArgs {
    /// Where the report goes.
    #[command(flatten)]
    pub output: OutputArgs,

    /// The report as a page.
    #[command(flatten)]
    pub page: PageArgs,

    /// What is missing, and what that decides.
    #[command(flatten)]
    pub whole: WholeArgs,

    /// What is found, and what that decides.
    #[command(flatten)]
    pub verdict: VerdictArgs,

    /// What it shows of the measurement.
    #[command(flatten)]
    pub view: ViewArgs,

    /// What is measured.
    #[command(flatten)]
    pub metering: MeteringArgs,

    /// How the program is run.
    #[command(flatten)]
    pub run: RunArgs,

    /// What the checkers do.
    #[command(flatten)]
    pub checkers: CheckersArgs,

    /// The program to run, looked up in PATH, and its arguments.
    #[arg(required = true, trailing_var_arg = true, help_heading = "Arguments")]
    #[arg(value_name = "PROGRAM", value_hint = clap::ValueHint::CommandWithArguments)]
    pub program: Vec<OsString>,
}

/// Make the report from ledgers that were kept, or that a killed run left behind.
///
/// Works on ledgers of programs that ended, crashed, were killed or still run, of `check`, `meter`
/// or both. Binaries and their debug information are looked up where the program had them.
#[derive(Debug, Args)]
#[command(after_long_help = manual::REPORT.help())]
pub struct ReportArgs {
    /// Where the report goes.
    #[command(flatten)]
    pub output: OutputArgs,

    /// The report as a page.
    #[command(flatten)]
    pub page: PageArgs,

    /// What is missing, and what that decides.
    #[command(flatten)]
    pub whole: WholeArgs,

    /// What is found, and what that decides.
    #[command(flatten)]
    pub verdict: VerdictArgs,

    /// What it shows of the measurement.
    #[command(flatten)]
    pub view: ViewArgs,

    /// Show the locks of a class one by one: where the run had --instances.
    #[arg(long, help_heading = "Measurement")]
    pub instances: bool,

    /// What to show instead of the report.
    #[command(flatten)]
    pub listing: ListingArgs,

    /// Ledger files, or directories with ledgers of one run.
    #[arg(required = true, help_heading = "Arguments", value_name = "LEDGER", value_hint = clap::ValueHint::AnyPath)]
    pub ledgers: Vec<PathBuf>,
}

/// Join what several runs and processes of a program recorded, and find deadlocks that none of them
/// shows alone.
///
/// One run takes `a` then `b`, another `b` then `a`: neither has a cycle, the program has. Each
/// ledger, or directory of a run's ledgers, is one run. Lock classes are matched by build and
/// place, never by address. Findings of single processes are not repeated: `report` has those.
#[derive(Debug, Args)]
#[command(after_long_help = manual::MERGE.help())]
pub struct MergeArgs {
    /// Where the report goes.
    #[command(flatten)]
    pub output: OutputArgs,

    /// The report as a page.
    #[command(flatten)]
    pub page: PageArgs,

    /// What is missing, and what that decides.
    #[command(flatten)]
    pub whole: WholeArgs,

    /// What is found, and what that decides.
    #[command(flatten)]
    pub verdict: VerdictArgs,

    /// Runs: ledger files, directories with ledgers of one run, or directories of such.
    #[arg(required = true, help_heading = "Arguments", value_name = "LEDGER", value_hint = clap::ValueHint::AnyPath)]
    pub ledgers: Vec<PathBuf>,
}

/// Compare measurements: what locks cost before a change and after it, and how sure that is.
///
/// Each ledger, or directory of a run's ledgers, is one run; name several on each side. Changes are
/// shown with the interval in which they lie with 95 % certainty, by how much the runs of a side
/// differ.
#[derive(Debug, Args)]
#[command(override_usage = "lockwright diff [OPTIONS] BEFORE... -- AFTER...")]
#[command(after_long_help = manual::DIFF.help())]
pub struct DiffArgs {
    /// Where the report goes.
    #[command(flatten)]
    pub output: OutputArgs,

    /// The report as a page.
    #[command(flatten)]
    pub page: PageArgs,

    /// Exit with 66 if this is the case beyond chance: `METRIC > +N%` or `METRIC < -N%`, where
    /// METRIC is wait, hold, acquisitions, contended or utilisation; then `@PATTERN` for each lock
    /// of such a name in place of all locks together.
    #[arg(long, value_name = "CONDITION", help_heading = "Comparison")]
    pub fail_if: Vec<FailIf>,

    /// Show the first N classes of locks; 0: all.
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Comparison")]
    pub top: usize,

    /// Runs before: ledger files, directories with ledgers of one run, or directories of such.
    #[arg(required = true, help_heading = "Arguments", value_name = "BEFORE", value_hint = clap::ValueHint::AnyPath)]
    pub before: Vec<PathBuf>,

    /// Runs after.
    #[arg(required = true, last = true, help_heading = "Arguments", value_name = "AFTER", value_hint = clap::ValueHint::AnyPath)]
    pub after: Vec<PathBuf>,
}

/// Tell what can be watched of a program, or of a process that runs, what cannot, and what to do
/// about it.
///
/// Nothing of the program is run. Looked at are the file, the libraries it begins with, and this
/// machine: where ledgers would go, limits, and whether a program of lockwright's own can be
/// watched here.
#[derive(Debug, Args)]
#[command(override_usage = "lockwright doctor [OPTIONS] PROGRAM|PID [ARGS]...")]
#[command(after_long_help = manual::DOCTOR.help())]
pub struct DoctorArgs {
    /// Where the diagnosis goes; without -o, to standard output.
    #[command(flatten)]
    pub output: OutputArgs,

    /// Directory for the ledgers, as it would be given to `check`.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, help_heading = "Run")]
    pub ledger_dir: Option<PathBuf>,

    /// The program, looked up in PATH, or the id of a process. Arguments of the program do not
    /// matter.
    #[arg(required = true, trailing_var_arg = true, help_heading = "Arguments")]
    #[arg(value_name = "PROGRAM|PID", value_hint = clap::ValueHint::CommandWithArguments)]
    pub program: Vec<OsString>,
}

/// Run a shipped multi-threaded program that takes two locks in both orders, and report it.
///
/// The program is a small bank: tellers and an auditor take the same two locks, in opposite orders,
/// at times of day that never met so far. It ends normally; the report tells what will happen one
/// day. Exits with 0 if the planted deadlock was found, and with 1 if it was not.
#[derive(Debug, Args)]
#[command(after_long_help = manual::DEMO.help())]
pub struct DemoArgs {
    /// Print the program's source, which the lines of the report are of, and do nothing else.
    #[arg(long)]
    pub source: bool,

    /// Where the report goes.
    #[command(flatten)]
    pub output: OutputArgs,

    /// The report as a page.
    #[command(flatten)]
    pub page: PageArgs,

    /// What is found, and what that decides.
    #[command(flatten)]
    pub verdict: VerdictArgs,

    /// How the program is run.
    #[command(flatten)]
    pub run: RunArgs,

    /// What the checkers do.
    #[command(flatten)]
    pub checkers: CheckersArgs,
}

/// The report as a page.
#[derive(Debug, Args)]
#[command(next_help_heading = "Report")]
pub struct PageArgs {
    /// Also write the report as one HTML page to FILE (`-`: standard output), for a browser: with
    /// source lines, drawings and tables. The page fetches nothing.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub html: Option<PathBuf>,
}

/// What is missing, and what that decides.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Report")]
pub struct WholeArgs {
    /// Do not fail because a process was not watched to its end, or records were lost: the report
    /// says it all the same.
    #[arg(long)]
    pub allow_incomplete: bool,
}

/// What is found, and what that decides.
#[derive(Debug, Args)]
#[command(next_help_heading = "Findings")]
pub struct VerdictArgs {
    /// Show findings of the grades guarded, ordered, single-thread and untidy too, not just their
    /// number.
    #[arg(long)]
    pub all: bool,

    /// Show findings one by one that differ only in which locks, threads or processes they are of;
    /// else the first one tells how many more there are.
    #[arg(long)]
    pub all_instances: bool,

    /// The least serious grade that makes the exit code that of a failure.
    #[arg(long, value_name = "GRADE", value_enum, default_value_t = Grade::Likely)]
    pub fail_on: Grade,

    /// Exit code where a finding of failing grade exists; 0: findings do not change the exit code.
    #[arg(long, value_name = "N", default_value_t = exit::FINDING)]
    pub exit_code: u8,

    /// Add lockdep's and debugobjects' counters, under the names that the kernel's
    /// /proc/lockdep_stats and debug_objects/stats have.
    #[arg(long)]
    pub stats: bool,

    /// Also write the findings as SARIF 2.1.0 to FILE (`-`: standard output), for code hosts and
    /// editors.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub sarif: Option<PathBuf>,

    /// Also write the findings as JUnit XML to FILE (`-`: standard output): a suite for each
    /// process, a test case for each finding.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub junit: Option<PathBuf>,

    /// Also write the findings as a page of Markdown to FILE (`-`: standard output).
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub markdown: Option<PathBuf>,

    /// After the report, say the findings again as GitHub's workflow commands, which show them
    /// beside the lines of a change; and add the page of --markdown to the step's summary
    /// ($GITHUB_STEP_SUMMARY), if there is one and something to tell.
    #[arg(long)]
    pub github: bool,

    /// Do not show findings that a rule in FILE matches, nor fail because of them: just count them.
    /// May be given several times. `default` stands for the rules that ship with lockwright and are
    /// in use anyway: with nothing to run or read it prints them. (A file of that name:
    /// `./default`.)
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub suppressions: Vec<PathBuf>,

    /// Do without the rules that ship with lockwright, for faults of well-known libraries that do
    /// no harm.
    #[arg(long)]
    pub no_default_suppressions: bool,

    /// After the report, or to FILE, write for each finding shown a rule that suppresses it.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub gen_suppressions: Option<Option<PathBuf>>,

    /// Show only findings that are not in FILE, or were less serious, and fail only because of
    /// them.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub baseline: Option<PathBuf>,

    /// Write the findings that there are now to FILE, for --baseline. May be the same file.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub write_baseline: Option<PathBuf>,
}

/// What a report shows of a measurement, and the other forms it takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measurement")]
pub struct ViewArgs {
    /// Show the first N classes of locks; 0: all.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    /// What comes first: the longest waits or holds in all, the most acquisitions, or the most
    /// contended.
    #[arg(long, value_name = "BY", value_enum, default_value_t = Sort::Wait)]
    pub sort: Sort,

    /// Hide what is contended in less than PCT percent of its acquisitions.
    #[arg(long, value_name = "PCT", default_value_t = 0.0)]
    pub min_con: f64,

    /// Hide what is held for less than PCT percent of the time.
    #[arg(long, value_name = "PCT", default_value_t = 0.0)]
    pub min_util: f64,

    /// Show another tool's table in place of the report: its columns, from these numbers.
    #[arg(long, value_name = "TOOL", value_enum)]
    pub compat: Option<Compat>,

    /// Also write waits or holds as folded stacks, for flame graphs: `wait=FILE` or `hold=FILE`.
    #[arg(long, value_name = "WHAT=FILE", value_parser = folded)]
    pub folded: Vec<(Folded, PathBuf)>,

    /// Also write contentions and delays as a gzipped pprof profile, for `go tool pprof`.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub pprof: Option<PathBuf>,

    /// Also write counters in the OpenMetrics text format, for Prometheus.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub openmetrics: Option<PathBuf>,
}

impl ViewArgs {
    /// What is to be shown needs bounces.
    pub fn counts_bounces(&self) -> bool {
        self.compat == Some(Compat::LockStat)
    }

    /// The view asked for.
    pub fn view(&self, instances: bool) -> View {
        View {
            processes: true,
            top: self.top,
            sort: self.sort,
            instances,
            min_contended: self.min_con,
            min_utilisation: self.min_util,
            compat: self.compat,
        }
    }
}

/// Reads `wait=FILE`.
fn folded(text: &str) -> Result<(Folded, PathBuf), String> {
    let (what, file) = text.split_once('=').ok_or("name what to fold and a file: wait=FILE")?;
    Ok((Folded::from_str(what, false)?, file.into()))
}

/// What is measured.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measurement")]
pub struct MeteringArgs {
    /// Which holds are timed: `exact`, every one; `sample` or `sample:N`, one in N (64) by chance,
    /// which is cheaper; `off`, none. Acquisitions are counted and waits timed in any case.
    #[arg(long, value_name = "HOW", default_value = "exact")]
    pub hold: HoldTiming,

    /// Keep the locks of a class apart, and show each. Takes more memory.
    #[arg(long)]
    pub instances: bool,
}

/// Which holds are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldTiming {
    /// Every one.
    Exact,
    /// One in so many, at random.
    Sample(u32),
    /// None.
    Off,
}

/// One hold in so many is timed where the user does not say.
const SAMPLE: u32 = 64;

impl FromStr for HoldTiming {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "exact" => Ok(Self::Exact),
            None if text == "off" => Ok(Self::Off),
            None if text == "sample" => Ok(Self::Sample(SAMPLE)),
            Some(("sample", n)) => match n.parse() {
                // What the preload library reads: six digits.
                Ok(n @ 2..=999_999) => Ok(Self::Sample(n)),
                _ => Err(format!("`{n}` is no sampling distance: a number from 2 to 999999")),
            },
            _ => Err("one of exact, sample, sample:N, off".into()),
        }
    }
}

impl fmt::Display for HoldTiming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => f.write_str("exact"),
            Self::Sample(n) => write!(f, "sample:{n}"),
            Self::Off => f.write_str("off"),
        }
    }
}

/// What to show instead of the report.
#[derive(Debug, Args)]
#[command(next_help_heading = "In place of the report, to standard output or -o FILE")]
#[group(multiple = false, conflicts_with_all = ["json", "html", "stats", "folded", "pprof", "openmetrics", "gen_suppressions", "write_baseline", "sarif", "junit", "markdown", "github"])]
pub struct ListingArgs {
    /// List the lock classes, as the kernel's /proc/lockdep: how often locks of each were acquired
    /// (OPS), how many others follow (FD) and precede (BD) it, what signals mean to it, and what is
    /// taken while it is held.
    #[arg(long)]
    pub classes: bool,

    /// List the chains of locks held at once, as the kernel's /proc/lockdep_chains, with places.
    #[arg(long)]
    pub chains: bool,

    /// Draw lock classes and their dependencies in the DOT language: those on a cycle in red, the
    /// cycles found in bold, dashed and orange if something keeps them from deadlock, dotted if
    /// only a signal's handler may make them so.
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
    /// (`std::mutex`) are told apart by what they are part of, not by where they are first taken.
    /// Makes malloc and free slower.
    #[arg(long)]
    pub track_allocations: bool,

    /// Which of the processes that the program starts are watched: `all`, `none`, or those whose
    /// executable has one of these names, which may have `*` and `?` in them. The program itself is
    /// watched in any case.
    #[arg(long, value_name = "all|none|NAME", value_delimiter = ',', default_value = "all", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub follow: Vec<String>,
}

/// What the checkers do.
#[derive(Debug, Args)]
#[command(next_help_heading = "Run")]
pub struct CheckersArgs {
    /// What to do with a process that has really deadlocked, once that is reported. It is left
    /// alone as long as it may go on: while another of its threads runs or sleeps for a time, while
    /// a timer is armed, and if a thread that had not taken such a lock has unlocked one. Input,
    /// and signals with handlers, are waited for half a minute.
    #[arg(long, value_name = "ACTION", value_enum, default_value_t = OnDeadlock::Kill)]
    pub on_deadlock: OnDeadlock,

    /// Call it a hang when a thread has waited for a lock for so many seconds whose holder runs all
    /// the while and neither takes nor releases any: that one is then stopped a few times, for less
    /// than a millisecond each (ptrace), to see where it loops, and the report says so. Without
    /// this no thread is ever stopped.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub hang_after: Option<u32>,

    /// Leave out the lives of locks and other synchronisation objects: that they are initialised,
    /// once, before they are used, and not destroyed, or their memory freed, while they are in use.
    #[arg(long)]
    pub no_objects: bool,
}

impl CheckersArgs {
    /// How long a lock is waited for when its holder loops before that is a hang; none: for ever.
    pub fn hang_after(&self) -> Option<std::time::Duration> {
        self.hang_after.map(|seconds| std::time::Duration::from_secs(seconds.into()))
    }
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
        assert!(args.verdict.all && args.output.output.is_none());
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
        assert!(args.verdict.stats && args.listing.listing().is_none());
        assert!(report(&["--graph", "--chains", "x.lwl"]).is_err());
        assert!(report(&["--graph", "--json", "x.json", "x.lwl"]).is_err());
    }

    #[test]
    fn two_sides_are_told_apart() {
        let diff = |args: &[&str]| Cli::try_parse_from(["lockwright", "diff"].iter().chain(args));
        let args = diff(&["--fail-if", "wait > +10%", "a", "b", "--", "c", "d"]).unwrap();
        let Command::Diff(args) = args.command else { panic!() };
        assert_eq!(
            (args.before, args.after),
            (vec!["a".into(), "b".into()], vec!["c".into(), "d".into()])
        );
        assert_eq!(args.fail_if.len(), 1);
        assert!(diff(&["a", "b"]).is_err());
        assert!(diff(&["--", "a"]).is_err());
        let error = diff(&["--fail-if", "wiat > 1%", "a", "--", "b"]).unwrap_err().to_string();
        assert!(error.contains("`wiat` is no metric: one of wait"), "{error}");
    }

    #[test]
    fn holds_are_timed_as_asked() {
        let hold = |text: &str| text.parse::<HoldTiming>().map(|timing| timing.to_string());
        assert_eq!(hold("exact").unwrap(), "exact");
        assert_eq!(hold("sample").unwrap(), "sample:64");
        assert_eq!(hold("sample:1000").unwrap(), "sample:1000");
        assert_eq!(hold("off").unwrap(), "off");
        for wrong in ["sample:1", "sample:x", "sample:", "often", ""] {
            assert!(hold(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_folded_is_named() {
        let meter = |args: &[&str]| Cli::try_parse_from(["lockwright", "meter"].iter().chain(args));
        let args = meter(&["--folded", "wait=a=b", "--folded", "hold=c", "true"]).unwrap();
        let Command::Meter(args) = args.command else { panic!() };
        let expected = [(Folded::Wait, "a=b".into()), (Folded::Hold, "c".into())];
        assert_eq!(args.view.folded, expected);
        assert!(meter(&["--folded", "wait", "true"]).is_err());
        assert!(meter(&["--folded", "sleep=x", "true"]).is_err());
    }

    #[test]
    fn a_mistyped_option_is_not_a_program() {
        assert!(Cli::try_parse_from(["lockwright", "check", "--al", "./server"]).is_err());
        assert!(Cli::try_parse_from(["lockwright", "check"]).is_err());
    }
}
