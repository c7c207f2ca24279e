//! `lockwright top` and `lockwright ps`: what to look at, and how often.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::program::{MeteringArgs, RunArgs};
use crate::manual;
use lockwright_console::args::{OutputArgs, of_table, seconds};

/// Show the locks of a program while it runs: which are waited for, which threads hold them, the
/// graph of waits, and what is wrong.
///
/// At a terminal it fills the screen and takes keys; `?` lists them. Into a pipe or a file it writes a
/// snapshot for each interval. The program is started under lockdep and lockmeter, or is watched
/// already, or runs without lockwright (--pid). It can also be a run that has ended: kept ledgers, or a
/// recording of `top` itself. Looking costs a watched program nothing: its ledger is read.
#[derive(Debug, Args)]
#[command(
    override_usage = "lockwright top [OPTIONS] -- PROGRAM [ARGS]...\n       lockwright top [OPTIONS] <PID|LEDGER|RECORDING>\n       lockwright top [OPTIONS] <--pid PID|--system|--kernel>"
)]
#[command(after_long_help = manual::TOP.help())]
#[command(mut_arg("output", |output| output.help(
    "Write the snapshots to FILE instead of standard output, and show no screen"
)))]
#[command(mut_arg("json", |json| json.help(
    "Write a JSON object for each moment, in a line, to FILE (`-`: standard output), and show no screen; without -o, no text"
)))]
pub struct TopArgs {
    /// Look into running process PID, which nobody started under lockwright: what its threads wait for,
    /// and which thread has it. Every wait is counted by eBPF where that is allowed (root), and else estimated
    /// from many short looks; acquisitions are not counted.
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..), help_heading = "View")]
    #[arg(conflicts_with_all = ["what", "keep", "ledger_dir", "track_allocations"])]
    pub pid: Option<u32>,

    /// Show the kernel's own locks, by its contention events (eBPF): which lock, which caller, which
    /// waiter. Needs root, or CAP_BPF and CAP_PERFMON.
    #[arg(long, help_heading = "View")]
    #[arg(conflicts_with_all = ["what", "pid", "keep", "ledger_dir", "track_allocations"])]
    pub kernel: bool,

    /// Show the futexes of all processes (eBPF): locks by process and call site, which threads wait, which
    /// have the lock, and where waits are ended. Nothing is restarted. Needs root, or CAP_BPF and CAP_PERFMON.
    #[arg(long, help_heading = "View")]
    #[arg(conflicts_with_all = ["what", "pid", "kernel", "keep", "ledger_dir", "track_allocations"])]
    pub system: bool,

    /// Look again every SECONDS. A recording is shown at its own pace, with at most SECONDS between two
    /// moments.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "1", help_heading = "View")]
    pub interval: f64,

    /// End after N snapshots. With a screen: after N looks.
    #[arg(long, value_name = "N", help_heading = "View")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// Show the first N classes of locks in a snapshot; 0: all.
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "View")]
    pub top: usize,

    /// Also show findings of the grades guarded, ordered, single-thread and untidy.
    #[arg(long, help_heading = "View")]
    pub all: bool,

    /// Also write each moment to FILE, compressed, for `lockwright top FILE`.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = "View")]
    pub record: Option<PathBuf>,

    /// Where snapshots go, and no screen; without -o, to standard output. JSON has a line for each
    /// moment.
    #[command(flatten)]
    pub output: OutputArgs,

    /// What is measured.
    #[command(flatten)]
    pub metering: MeteringArgs,

    /// How the program is run.
    #[command(flatten)]
    pub run: RunArgs,

    /// The id of a process that is watched; ledger files, or a directory with those of a run; a
    /// recording; or a program to run, looked up in PATH, and its arguments.
    #[arg(required_unless_present_any = ["pid", "system", "kernel"], trailing_var_arg = true, help_heading = "Arguments")]
    #[arg(value_name = "WHAT", value_hint = clap::ValueHint::CommandWithArguments)]
    pub what: Vec<OsString>,
}

/// List the processes that are watched: by which engines, since when, and how large their ledgers
/// are.
#[derive(Debug, Args)]
#[command(after_long_help = manual::PS.help())]
#[command(mut_arg("output", of_table))]
pub struct PsArgs {
    /// Where the list goes; without -o, to standard output.
    #[command(flatten)]
    pub output: OutputArgs,
}
