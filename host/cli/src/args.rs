//! The command line. Long help, man pages and shell completions are generated from here and from
//! [`crate::manual`].

mod live;
mod program;
mod push;
mod steering;
mod swap;
mod timeline;
mod times;
mod top;
mod tune;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use live::{LiveArgs, OnDeadlock, TimeArgs};
pub use lockwright_console::args::{Colour, OutputArgs};
pub use program::{HoldTiming, MeteringArgs, RunArgs};
pub use push::{AdmissionArgs, PushArgs, SendArgs};
pub use steering::{AvoidArgs, ScheduleArgs, SteeringArgs};
pub use swap::SwapArgs;
pub use timeline::TimelineArgs;
pub use top::{PsArgs, TopArgs};
pub use tune::{MetricArgs, Pattern, TuneArgs};

use crate::manual;
use lockwright_analysis::finding::Grade;
use lockwright_console::error::exit;
use lockwright_report::listing::Listing;
use lockwright_report::lockmeter::diff::FailIf;
use lockwright_report::lockmeter::folded::Folded;
use lockwright_report::lockmeter::timeline::TimelineFormat;
use lockwright_report::lockmeter::view::{Compat, Sort, View};

/// The Linux kernel's locking tools, for programs that you do not rebuild.
///
/// lockwright watches the locks of a program while it runs. Like the kernel's lockdep it validates
/// the order in which threads take locks, and reports deadlocks before they happen, with source
/// lines. Like the kernel's lockmeter it measures which lock and which caller cost the time.
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
    Confirm(ConfirmArgs),
    Meter(MeterArgs),
    Run(BothArgs),
    Top(TopArgs),
    Ps(PsArgs),
    Push(SendArgs),
    Swap(SwapArgs),
    Report(ReportArgs),
    Merge(MergeArgs),
    Diff(DiffArgs),
    Doctor(DoctorArgs),
    Demo(DemoArgs),
    Tune(TuneArgs),
    Man(ManArgs),
    /// Gives a terminal back as it was, once the screen that had it has died.
    #[command(hide = true)]
    RestoreTerminal,
    /// Prints the cost of an uncontended lock and unlock, in nanoseconds.
    #[command(hide = true)]
    Calibrate,
}

impl Command {
    /// What the `words` after the program's name say, if it is one of the commands that run a program
    /// and there is nothing wrong: what [`Cli`] makes of them, without the tables of all the other
    /// commands, which take longer to make than to use.
    pub fn parse_alone(words: &[OsString]) -> Option<Self> {
        let (name, words) = words.split_first()?;
        match name.to_str()? {
            "check" => alone(words).map(Self::Check),
            "meter" => alone(words).map(Self::Meter),
            "run" => alone(words).map(Self::Run),
            _ => None,
        }
    }

    /// The user's choice of colours.
    pub fn colour(&self) -> Colour {
        let output = match self {
            Self::Check(args) => &args.output,
            Self::Confirm(args) => &args.output,
            Self::Meter(args) => &args.output,
            Self::Run(args) => &args.output,
            Self::Top(args) => &args.output,
            Self::Ps(args) => &args.output,
            Self::Push(args) => &args.output,
            Self::Swap(args) => &args.output,
            Self::Report(args) => &args.output,
            Self::Merge(args) => &args.output,
            Self::Diff(args) => &args.output,
            Self::Doctor(args) => &args.output,
            Self::Demo(args) => &args.output,
            Self::Tune(args) => &args.output,
            Self::Man(_) | Self::RestoreTerminal | Self::Calibrate => return Colour::Auto,
        };
        output.color
    }
}

/// The arguments of one command, if they are right.
fn alone<A: Args>(words: &[OsString]) -> Option<A> {
    let parser = A::augment_args(clap::Command::new("lockwright").no_binary_name(true));
    A::from_arg_matches(&parser.try_get_matches_from(words).ok()?).ok()
}

/// Run a program, and report deadlocks that happened or could have happened.
///
/// The program's standard streams, terminal, signals and exit code pass through untouched. The
/// report follows on standard error when the program ends. If the program really deadlocks, the
/// report appears while it hangs.
#[derive(Debug, Args)]
#[command(
    override_usage = "lockwright check [OPTIONS] -- PROGRAM [ARGS]...\n       lockwright check [OPTIONS] --pid PID"
)]
#[command(after_long_help = manual::CHECK.help())]
pub struct CheckArgs {
    /// Inspect running process PID without stopping it: which thread waits for which, and whether
    /// the wait can end. Lock orders that could deadlock at another time are not visible.
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(conflicts_with_all = ["program", "html", "sarif", "junit", "markdown", "github", "suppressions", "gen_suppressions", "baseline", "write_baseline", "stats", "keep", "ledger_dir", "track_allocations", "hang_after", "no_objects", "open", "live", "on_finding", "abort_on", "wait_threshold", "interval", "seconds", "confirm", "perturb", "avoid"])]
    pub pid: Option<u32>,

    /// Print what KIND of finding, or a grade, means, why, and how to mend it; run nothing.
    #[arg(long, value_name = "KIND", exclusive = true, help_heading = "Findings")]
    pub explain: Option<String>,

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

    /// What findings lead to.
    #[command(flatten)]
    pub live: LiveArgs,

    /// What is watched in time.
    #[command(flatten)]
    pub time: TimeArgs,

    /// What it does beyond one plain run.
    #[command(flatten)]
    pub schedules: ScheduleArgs,

    /// What is not to happen.
    #[command(flatten)]
    pub avoid: AvoidArgs,

    /// The program to run, looked up in PATH, and its arguments.
    #[arg(required_unless_present_any = ["pid", "explain"], trailing_var_arg = true, help_heading = "Arguments")]
    #[arg(value_name = "PROGRAM", value_hint = clap::ValueHint::CommandWithArguments)]
    pub program: Vec<OsString>,
}

/// Run a program again and again, and try to make the deadlocks happen that a check predicts.
///
/// Each thread of a finding is held up just before the call that would close its cycle, until the others are at theirs. A
/// deadlock that comes is real: its finding gets the grade deadlocked. Of one that does not come the report says what was in
/// the way. First, a planted deadlock has to come: where that fails, the command fails.
#[derive(Debug, Args)]
#[command(override_usage = "lockwright confirm [OPTIONS] [--from FINDINGS] -- PROGRAM [ARGS]...")]
#[command(after_long_help = manual::CONFIRM.help())]
pub struct ConfirmArgs {
    /// Which findings to confirm: ledgers that --keep kept, or a baseline. Without this option the program is checked first.
    /// With a baseline it is checked, too, and the findings that the baseline knows are confirmed.
    #[arg(long, value_name = "FINDINGS", value_hint = clap::ValueHint::AnyPath, help_heading = "Confirmation")]
    pub from: Option<PathBuf>,

    /// Only confirm the finding with this fingerprint, as the JSON report has it. The first digits are enough. You can give this option
    /// several times.
    #[arg(long, value_name = "FINGERPRINT", help_heading = "Confirmation")]
    pub finding: Vec<String>,

    /// Runs for each finding.
    #[arg(long, value_name = "N", default_value_t = SteeringArgs::RUNS, value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Confirmation")]
    pub runs: u32,

    /// How threads are held up.
    #[command(flatten)]
    pub steering: SteeringArgs,

    /// All runs together may take this long (`60s`, `5m`). Findings that are left then say so.
    #[arg(long, value_name = "TIME", value_parser = steering::time, help_heading = "Confirmation")]
    pub budget: Option<Duration>,

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
    #[arg(required = true, trailing_var_arg = true, help_heading = "Arguments")]
    #[arg(value_name = "PROGRAM", value_hint = clap::ValueHint::CommandWithArguments)]
    pub program: Vec<OsString>,
}

/// What is of programs that lockwright starts with its library.
const PRELOADED: [&str; 26] = [
    "on_finding",
    "html",
    "open",
    "wait_threshold",
    "allow_incomplete",
    "sort",
    "min_con",
    "min_util",
    "folded",
    "pprof",
    "openmetrics",
    "timeline",
    "timeline_size",
    "hold",
    "instances",
    "listen",
    "push",
    "push_interval",
    "push_label",
    "push_name",
    "push_headers",
    "push_ca",
    "keep",
    "ledger_dir",
    "track_allocations",
    "follow",
];

/// Run a program, and measure its locks: which lock, which caller, which holder, for how long.
///
/// The tool counts every acquisition and times every wait, for each place that takes a lock. It
/// charges each wait to the holders that caused it, and also times waits for conditions,
/// semaphores, barriers and joins. The program's standard streams, signals and exit code pass
/// through. The report follows on standard error when the program ends. lockdep does not run, so
/// this costs less than `run`.
#[derive(Debug, Args)]
#[command(
    override_usage = "lockwright meter [OPTIONS] -- PROGRAM [ARGS]...\n       lockwright meter [OPTIONS] --kernel [-- PROGRAM [ARGS]...]\n       lockwright meter [OPTIONS] <--pid PID|--system>"
)]
#[command(after_long_help = manual::METER.help())]
#[command(group = clap::ArgGroup::new("traced").args(["kernel", "pid", "system"]).multiple(false))]
pub struct MeterArgs {
    /// Measure the kernel's own locks by its contention events (eBPF): which lock, which caller,
    /// which waiter. With a PROGRAM, measure while it runs; otherwise until Ctrl-C. Needs root, or
    /// CAP_BPF and CAP_PERFMON.
    #[arg(long, help_heading = "By the kernel", conflicts_with_all = PRELOADED)]
    pub kernel: bool,

    /// Measure the futexes of running process PID by its system calls (eBPF), until it ends or
    /// until Ctrl-C: which lock, where threads waited, which thread woke them. Needs the same rights
    /// as --kernel.
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(help_heading = "By the kernel", conflicts_with_all = PRELOADED, conflicts_with_all = ["program", "interval"])]
    pub pid: Option<u32>,

    /// Measure the futexes of all processes, as --pid does for one.
    #[arg(long, help_heading = "By the kernel", conflicts_with_all = PRELOADED, conflicts_with = "interval")]
    pub system: bool,

    /// Measure the PROGRAM's locks and the kernel locks that its threads wait for, and show all in
    /// one table. Needs the same rights as --kernel.
    #[arg(long, help_heading = "By the kernel", conflicts_with_all = ["traced", "compat"])]
    pub with_kernel: bool,

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

    /// How much of it is kept in time.
    #[command(flatten)]
    pub timeline: TimelineArgs,

    /// Where profiles of it go.
    #[command(flatten)]
    pub push: Box<PushArgs>,

    /// How the program is run.
    #[command(flatten)]
    pub run: RunArgs,

    /// What is watched in time.
    #[command(flatten)]
    pub time: TimeArgs,

    /// Run COMMAND (by /bin/sh) for each piece of advice at the end of the run, and for each wait of
    /// --wait-threshold while it lasts, with it as a JSON object on its standard input. It may take
    /// 10 s; at most 100 are run.
    #[arg(long, value_name = "COMMAND", value_hint = clap::ValueHint::CommandString)]
    #[arg(help_heading = "While it runs")]
    pub on_finding: Option<String>,

    /// The program to run, looked up in PATH, and its arguments.
    #[arg(required_unless_present = "traced", trailing_var_arg = true, help_heading = "Arguments")]
    #[arg(value_name = "PROGRAM", value_hint = clap::ValueHint::CommandWithArguments)]
    pub program: Vec<OsString>,
}

/// Run a program, and both check and measure its locks: `check` and `meter` at once.
///
/// Both reports follow when the program ends, the findings first. The exit code is that of `check`.
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

    /// How much of it is kept in time.
    #[command(flatten)]
    pub timeline: TimelineArgs,

    /// Where profiles of it go.
    #[command(flatten)]
    pub push: Box<PushArgs>,

    /// How the program is run.
    #[command(flatten)]
    pub run: RunArgs,

    /// What the checkers do.
    #[command(flatten)]
    pub checkers: CheckersArgs,

    /// What findings lead to.
    #[command(flatten)]
    pub live: LiveArgs,

    /// What is watched in time.
    #[command(flatten)]
    pub time: TimeArgs,

    /// What is not to happen.
    #[command(flatten)]
    pub avoid: AvoidArgs,

    /// The program to run, looked up in PATH, and its arguments.
    #[arg(required = true, trailing_var_arg = true, help_heading = "Arguments")]
    #[arg(value_name = "PROGRAM", value_hint = clap::ValueHint::CommandWithArguments)]
    pub program: Vec<OsString>,
}

/// Report on ledgers that --keep kept, or that a killed run left behind.
///
/// The program may have ended, crashed, been killed, or still be running under `check`, `meter` or
/// `run`. The tool looks for binaries and debug information where the program had them.
#[derive(Debug, Args)]
#[command(after_long_help = manual::REPORT.help())]
pub struct ReportArgs {
    /// Print what KIND of finding, or a grade, means, why, and how to mend it; read nothing.
    #[arg(long, value_name = "KIND", exclusive = true, help_heading = "Findings")]
    pub explain: Option<String>,

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

    /// Show the locks of a class one by one. The run must have had --instances.
    #[arg(long, help_heading = "Measurement")]
    pub instances: bool,

    /// What to show instead of the report.
    #[command(flatten)]
    pub listing: ListingArgs,

    /// Ledger files, or directories with ledgers of one run.
    #[arg(required_unless_present = "explain", help_heading = "Arguments", value_name = "LEDGER", value_hint = clap::ValueHint::AnyPath)]
    pub ledgers: Vec<PathBuf>,
}

/// Merge what several runs and processes of a program recorded, and find deadlocks that no single
/// run shows.
///
/// One run takes `a` then `b`, another takes `b` then `a`: no run has a cycle, but the program has
/// one. Each ledger, or directory with the ledgers of a run, is one run. Lock classes match by
/// build and place, never by address. The findings of single processes are in `report`, not here.
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

/// Compare measurements: what locks cost before a change and after it, and how certain that is.
///
/// Each ledger, or directory with the ledgers of a run, is one run. Name several runs on each side:
/// from their differences the tool computes a 95 % confidence interval for each change.
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

    /// Exit with 66 if this is true beyond chance: `METRIC > +N%` or `METRIC < -N%`. METRIC is
    /// wait, hold, acquisitions, contended or utilisation. With `@PATTERN` at the end, test each
    /// lock with a matching name instead of all locks together.
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

/// Report what lockwright can watch in a program or in a running process, what it cannot, and what
/// to do about it.
///
/// The tool does not run the program. It examines the file, the libraries that it loads at start,
/// and this machine: the place for ledgers, limits, and whether a small test program can be watched
/// here.
#[derive(Debug, Args)]
#[command(override_usage = "lockwright doctor [OPTIONS] PROGRAM|PID [ARGS]...")]
#[command(after_long_help = manual::DOCTOR.help())]
pub struct DoctorArgs {
    /// Where the diagnosis goes; without -o, to standard output.
    #[command(flatten)]
    pub output: OutputArgs,

    /// Directory for the ledgers, as you would give it to `check`.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, help_heading = "Run")]
    pub ledger_dir: Option<PathBuf>,

    /// Examine running process PID. A number instead of the program means the same.
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Run")]
    #[arg(conflicts_with = "program")]
    pub pid: Option<u32>,

    /// The program, looked up in PATH, or the id of a process. The program's arguments make no
    /// difference.
    #[arg(required_unless_present = "pid", trailing_var_arg = true, help_heading = "Arguments")]
    #[arg(value_name = "PROGRAM|PID", value_hint = clap::ValueHint::CommandWithArguments)]
    pub program: Vec<OsString>,
}

/// Run a small program that takes two locks in both orders, and report its deadlock.
///
/// The program is a bank. Tellers and an auditor take the same two locks in opposite orders, but so
/// far never at the same time, so the program ends normally. Exits with 0 if the report has the
/// planted deadlock, and with 1 if not.
///
/// The source stays in the current directory as demo.c, unless another file has that name.
#[derive(Debug, Args)]
#[command(after_long_help = manual::DEMO.help())]
pub struct DemoArgs {
    /// Print the program's source, to which the report's line numbers refer, and do nothing else.
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

/// Write the manual pages, for `man lockwright-check` and the others.
///
/// They go where `man` looks for those of the command: if it is /usr/local/bin/lockwright, to
/// /usr/local/share/man/man1. Pages of another version are replaced.
#[derive(Debug, Args)]
#[command(after_long_help = manual::MAN.help())]
pub struct ManArgs {
    /// Write to directory DIR instead, which is made if it is not there.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}

/// The report as a page.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Report")]
pub struct PageArgs {
    /// Also write the report as one HTML page to FILE (`-`: standard output), for a browser: with
    /// source lines, drawings and tables. The page fetches nothing.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub html: Option<PathBuf>,

    /// Open the page of --html in a browser (xdg-open) after the report. Without --html the page
    /// goes to a new file in the directory for temporary files, and stays there.
    #[arg(long)]
    pub open: bool,
}

/// What is missing, and what that decides.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Report")]
pub struct WholeArgs {
    /// Do not fail if a process was not watched to its end, or if records were lost. The report
    /// still says so.
    #[arg(long)]
    pub allow_incomplete: bool,
}

/// What is found, and what that decides.
#[derive(Debug, Args)]
#[command(next_help_heading = "Findings")]
pub struct VerdictArgs {
    /// Also show findings of the grades guarded, ordered, single-thread and untidy, not only their
    /// number.
    #[arg(long)]
    pub all: bool,

    /// Show each finding, even if it differs from another only in its locks, threads or processes.
    /// Otherwise the first one shows how many more there are.
    #[arg(long)]
    pub all_instances: bool,

    /// The least serious grade that fails the run.
    #[arg(long, value_name = "GRADE", value_enum, default_value_t = Grade::Likely)]
    pub fail_on: Grade,

    /// Exit code if there is a finding of a failing grade. With 0, findings do not change the exit
    /// code.
    #[arg(long, value_name = "N", default_value_t = exit::FINDING)]
    pub exit_code: u8,

    /// Add the counters of lockdep and debugobjects, under the names of the kernel's
    /// /proc/lockdep_stats and debug_objects/stats.
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

    /// After the report, repeat the findings as GitHub workflow commands, so that they appear next
    /// to the lines of a change. If there are findings, also add the page of --markdown to the
    /// step's summary ($GITHUB_STEP_SUMMARY).
    #[arg(long)]
    pub github: bool,

    /// Only count findings that a rule in FILE matches: do not show them, and do not fail because
    /// of them. You can give this option several times. `default` means the rules that ship with
    /// lockwright, which always apply; without a program or ledgers, it prints them. (For a file of
    /// that name, write `./default`.)
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub suppressions: Vec<PathBuf>,

    /// Do not apply the rules that ship with lockwright, which are for harmless faults of
    /// well-known libraries.
    #[arg(long)]
    pub no_default_suppressions: bool,

    /// For each finding shown, write a rule that suppresses it: after the report, or to FILE.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub gen_suppressions: Option<Option<PathBuf>>,

    /// Show only findings that are new or more serious than in FILE, and fail only because of
    /// them.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub baseline: Option<PathBuf>,

    /// Write the current findings to FILE, for --baseline. It can be the same file.
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

    /// Sort by total wait, total hold, acquisitions, or contended acquisitions.
    #[arg(long, value_name = "BY", value_enum, default_value_t = Sort::Wait)]
    pub sort: Sort,

    /// Hide locks of which less than PCT percent of the acquisitions are contended.
    #[arg(long, value_name = "PCT", default_value_t = 0.0)]
    pub min_con: f64,

    /// Hide locks that are held for less than PCT percent of the time.
    #[arg(long, value_name = "PCT", default_value_t = 0.0)]
    pub min_util: f64,

    /// Show these numbers in the columns of another tool instead of the report.
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

    /// Also record when each thread waited and held locks, and write it to FILE, for
    /// ui.perfetto.dev. If the name ends in `.json` or `.json.gz`, it is for profiler.firefox.com;
    /// `perfetto=FILE` or `firefox=FILE` says which. Short waits are sampled. You can give this
    /// option several times.
    #[arg(long, value_name = "FILE", value_parser = timeline::file)]
    pub timeline: Vec<(TimelineFormat, PathBuf)>,
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

/// What to show instead of the report.
#[derive(Debug, Args)]
#[command(next_help_heading = "In place of the report, to standard output or -o FILE")]
#[group(multiple = false, conflicts_with_all = ["json", "html", "stats", "folded", "pprof", "openmetrics", "timeline", "gen_suppressions", "write_baseline", "sarif", "junit", "markdown", "github"])]
pub struct ListingArgs {
    /// List the lock classes, as the kernel's /proc/lockdep does: acquisitions (OPS), classes that
    /// follow (FD) and precede (BD), use in signal handlers, and the classes taken while it is held.
    #[arg(long)]
    pub classes: bool,

    /// List the chains of locks held at the same time, as the kernel's /proc/lockdep_chains does,
    /// with places.
    #[arg(long)]
    pub chains: bool,

    /// Draw lock classes and their dependencies in the DOT language. Classes on a cycle are red, and
    /// reported cycles are bold. A cycle that something keeps from deadlock is dashed and orange; one
    /// that only a signal handler can close is dotted.
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

/// What the checkers do.
#[derive(Debug, Args)]
#[command(next_help_heading = "Run")]
pub struct CheckersArgs {
    /// What to do with a process that has really deadlocked, or whose threads all wait for each other
    /// for ever, after the report: `kill` it, leave it and only `report` that, `abort` it with a core
    /// file, or leave it and run COMMAND (by /bin/sh) with the deadlock as a JSON object on its
    /// standard input. The tool does nothing as long as the process may continue: while
    /// another thread runs or sleeps with a timeout, while a timer is armed, or if one thread unlocks
    /// what another locked. If input or a signal with a handler may still come, a deadlock has to stand
    /// for half a minute, and a process whose threads all wait is left alone.
    #[arg(long, value_name = "kill|report|abort|exec:COMMAND", default_value = "kill")]
    pub on_deadlock: OnDeadlock,

    /// Report a hang if a lock holder has been running for SECONDS while others wait, without taking
    /// or releasing a lock. The tool then stops the holder a few times, for less than a millisecond
    /// each (ptrace), to see where it loops. Without this option it never stops a thread.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub hang_after: Option<u32>,

    /// Do not check the lifetimes of locks and other synchronisation objects: use before
    /// initialisation, double initialisation, and destruction or free while in use.
    #[arg(long)]
    pub no_objects: bool,
}

impl CheckersArgs {
    /// How long a lock is waited for when its holder loops before that is a hang; none: for ever.
    pub fn hang_after(&self) -> Option<std::time::Duration> {
        self.hang_after.map(|seconds| std::time::Duration::from_secs(seconds.into()))
    }
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
    fn a_command_by_itself_is_parsed_as_among_all() {
        let right = [
            "check -- a --all -x",
            "check --all --keep --ledger-dir /d --follow a,b -- a",
            "check --hang-after 3 a b",
            "check --pid 7",
            "meter --top 3 --sort wait -- a",
            "meter --hold sample:9 -- a",
            "run --no-objects --json - -- a",
        ];
        let wrong = [
            "",
            "check",
            "chek a",
            "check --help",
            "check -h",
            "check --version",
            "-V",
            "check --pid 0",
            "check --pid 7 a",
            "meter --top x a",
            "run --pid 7 a",
            "check --al a",
            "help check",
        ];
        let parse = |line: &str| {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let among_all = Cli::try_parse_from([OsString::from("lw")].iter().chain(&words));
            (Command::parse_alone(&words), among_all.ok().map(|cli| cli.command))
        };
        for line in right.iter().chain(&wrong) {
            let (alone, among_all) = parse(line);
            assert_eq!(format!("{alone:?}"), format!("{among_all:?}"), "{line}");
        }
        assert!(right.iter().all(|line| parse(line).0.is_some()));
        assert!(wrong.iter().all(|line| parse(line).0.is_none()));
        assert!(parse("report x.lwl").0.is_none(), "it runs no program");
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
