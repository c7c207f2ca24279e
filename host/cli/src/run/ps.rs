//! `lockwright ps`: the processes that are watched.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use lockwright_ledger::Ledger;
use lockwright_ledger::layout::engines;
use serde::Serialize;

use super::clocks::monotonic_ns;
use super::ending::Ending;
use super::output::sinks::Sinks;
use crate::args::PsArgs;
use crate::ledger_dir::{run_of, watched};
use lockwright_console::error::Result;
use lockwright_console::plain;
use lockwright_report::prose::words::{command, duration};

/// A watched process.
#[derive(Debug, Serialize)]
struct Watched {
    pid: u32,
    command: String,
    /// The engines that record it.
    engines: Vec<&'static str>,
    /// Since its start, seconds.
    elapsed_s: f64,
    threads: u32,
    deadlocks: u32,
    /// Memory or disk that its ledger takes, bytes.
    ledger_bytes: u64,
    ledger: String,
    /// The directory of its run, for `lockwright report`.
    run: String,
}

/// Runs the command.
///
/// # Errors
/// If the list cannot be written.
pub fn run(args: &PsArgs) -> Result<Ending> {
    let mut output = Sinks::open(&args.output)?;
    let all: Vec<Watched> =
        watched().into_iter().filter_map(|(pid, ledger)| describe(pid, &ledger)).collect();
    output.write_json_text(&lockwright_console::plain::json_text(&all))?;
    output.list(&text(&all))?;
    Ok(Ending::Code(0))
}

fn describe(pid: u32, path: &Path) -> Option<Watched> {
    let ledger = Ledger::open(path).ok()?;
    let header = ledger.header();
    let words = ledger.raw_text(header.cmdline);
    let words: Vec<String> = words
        .split(|&byte| byte == 0)
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .filter(|word| !word.is_empty())
        .collect();
    let names = [
        (engines::LOCKDEP, "lockdep"),
        (engines::DEBUGOBJECTS, "debugobjects"),
        (engines::LOCKMETER, "lockmeter"),
    ];
    let names = names.into_iter().filter(|(bit, _)| header.engines & bit != 0);
    // As stat(2) has it.
    const BLOCK: u64 = 512;
    Some(Watched {
        pid,
        command: plain::line(&command(&ledger.text(header.exe), &words)),
        engines: names.map(|(_, name)| name).collect(),
        elapsed_s: monotonic_ns().saturating_sub(header.start_ns) as f64 / 1e9,
        threads: fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count) as u32,
        deadlocks: header.deadlocks,
        ledger_bytes: fs::metadata(path).map_or(0, |meta| meta.blocks() * BLOCK),
        ledger: plain::line(&path.display().to_string()),
        run: plain::line(&run_of(path).unwrap_or(path).display().to_string()),
    })
}

fn text(all: &[Watched]) -> String {
    if all.is_empty() {
        return "no process of yours is watched\n".to_owned();
    }
    let mut lines = format!(
        "{:>8} {:>8} {:>8} {:>8}  {:<32} COMMAND\n",
        "PID", "SINCE", "THREADS", "LEDGER", "ENGINES"
    );
    for it in all {
        let since = duration(it.elapsed_s * 1e9);
        let dead = if it.deadlocks > 0 { "  DEADLOCKED" } else { "" };
        let kib = it.ledger_bytes.div_ceil(1024);
        lines += &format!(
            "{:>8} {since:>8} {:>8} {:>7}K  {:<32} {}{dead}\n",
            it.pid,
            it.threads,
            kib,
            it.engines.join(","),
            it.command
        );
    }
    lines
}
