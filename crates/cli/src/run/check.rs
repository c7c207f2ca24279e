//! `lockwright check`: run, watch, report.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use lockwright_ledger::Ledger;

use super::calibrate;
use super::child::{Child, Program};
use super::ending::Ending;
use super::live::Deadlocks;
use super::output::Output;
use super::preload::Preload;
use super::{load, path_search, target};
use crate::analysis;
use crate::args::{CheckArgs, OutputArgs, RunArgs};
use crate::error::{Error, Result};
use crate::finding::Report;
use crate::ledger_dir::{self, RunDir, Surroundings};
use crate::progress::{Bar, Progress, Silent};

/// How often the ledgers are looked at for deadlocks: soon enough for whoever watches, rare enough to
/// take no measurable time.
const POLL: Duration = Duration::from_millis(100);

/// Runs the command.
///
/// # Errors
/// If the program cannot be run, or not be watched.
pub fn run(args: CheckArgs) -> Result<Ending> {
    let program = find(args.program)?;
    let around = Surroundings::current();
    let dir = RunDir::create(args.run.ledger_dir.as_deref(), &around)?;
    let mut output = Output::open(&args.output)?;
    let checked = check(&program, &args.run, dir, &around, &mut output)?;
    Ok(checked.ending(&args.output))
}

/// What came of a run.
#[derive(Debug)]
pub struct Checked {
    /// The whole report; `None` if the program failed by itself before it could be watched.
    pub report: Option<Report>,
    /// How the program ended.
    pub status: ExitStatus,
}

impl Checked {
    fn ending(&self, args: &OutputArgs) -> Ending {
        let own = Ending::of_program(self.status);
        self.report.as_ref().map_or(own, |report| own.with_findings(report, args))
    }
}

fn find(argv: Vec<OsString>) -> Result<Program> {
    let path = std::env::var_os("PATH");
    let file = path_search::find(&argv[0], path.as_deref())?;
    target::check(&file)?;
    Ok(Program { file, argv })
}

/// Runs a program, shows the report, and leaves in `dir` what is to be kept.
///
/// # Errors
/// If the program cannot be run, or the report not be made.
pub fn check(
    program: &Program,
    args: &RunArgs,
    mut dir: RunDir,
    around: &Surroundings,
    output: &mut Output,
) -> Result<Checked> {
    let preload = Preload::unpack(&mut dir, around)?.tracking_allocations(args.track_allocations);
    let mut deadlocks = Deadlocks::default();
    let mut child = Child::spawn(program, &preload)?;
    let status = loop {
        let ended = child
            .wait(POLL)
            .map_err(|error| Error::new(format!("cannot wait for the program: {error}")))?;
        if let Some(status) = ended {
            break status;
        }
        for ledger in deadlocks.poll(dir.path()) {
            deadlocks.handle(&ledger, child.pid(), args.on_deadlock, output)?;
        }
        deadlocks.follow_up(output);
    };
    // From here on Ctrl-C is for lockwright.
    drop(child);

    let paths = ledger_dir::ledgers_in(dir.path())
        .map_err(|error| Error::new(format!("cannot read {}: {error}", dir.path().display())))?;
    let ledgers = open_ledgers(program, status, &paths, output)?;
    let report = (!ledgers.is_empty()).then(|| make_report(&ledgers, &preload, &dir));
    if let Some(report) = &report {
        output.write_json(report)?;
        let untold = deadlocks.untold(report);
        if !output.is_on_stderr() {
            output.show(report)?;
        } else if !untold.findings.is_empty() || !deadlocks.any_told() {
            output.show(&untold)?;
        }
        output.add_stats(&ledgers)?;
    }
    tidy(&paths, args.keep, &preload, &mut dir, output);
    Ok(Checked { report, status })
}

/// The ledgers of a run; none if the program failed by itself before it left any.
fn open_ledgers(
    program: &Program,
    status: ExitStatus,
    paths: &[PathBuf],
    output: &Output,
) -> Result<Vec<Ledger>> {
    let (ledgers, mut errors) = load::open_all(paths);
    if ledgers.is_empty() {
        let error = errors.pop().unwrap_or_else(|| unwatched(program));
        // A program that failed has said why, and how it ended matters more than this.
        if status.success() {
            return Err(error);
        }
        output.warn(&error);
    }
    errors.iter().for_each(|error| output.warn(error));
    Ok(ledgers)
}

fn make_report(ledgers: &[Ledger], preload: &Preload, dir: &RunDir) -> Report {
    let progress: Box<dyn Progress> =
        if std::io::stderr().is_terminal() { Box::new(Bar::new()) } else { Box::new(Silent) };
    let mut report = analysis::analyse(ledgers, &*progress);
    drop(progress);
    let summary = &mut report.summary;
    if summary.acquisitions > 0 {
        summary.cost_per_acquisition_ns = calibrate::cost(preload, dir.path());
        summary.cost_ns =
            summary.cost_per_acquisition_ns.map(|ns| (ns * summary.acquisitions as f64) as u64);
    }
    report
}

fn unwatched(program: &Program) -> Error {
    Error::new(format!("`{}` left no ledger: nothing was watched", program.argv[0].display()))
        .note("the preload library did not come to run in it, or could not create its ledger")
        .help("if it is a script or launcher: does it clear the environment (LD_PRELOAD, LOCKWRIGHT_DIR), or start a static or setuid program?")
        .help("if it runs in a sandbox or container: name a directory that exists there too, with --ledger-dir DIR")
}

/// Keeps, leaves or gives up the run's directory.
fn tidy(paths: &[PathBuf], keep: bool, preload: &Preload, dir: &mut RunDir, output: &Output) {
    let running = ledger_dir::watched_in(dir.path());
    let shown = dir.path().display().to_string();
    if !running.is_empty() {
        let pids: Vec<_> = running.iter().map(u32::to_string).collect();
        output.note(
            &Error::new(format!("still running, and still watched: process {}", pids.join(", ")))
                .help(format!("`lockwright report {shown}` reports them, until lockwright runs again after their end")),
        );
    }
    if keep {
        for path in paths.iter().filter(|path| ledger_dir::writer_of(path).is_none()) {
            if let Ok(ledger) = Ledger::open(path) {
                // As it is, the file works too.
                let _ = ledger_dir::trim(path, ledger.header().used);
            }
        }
        if running.is_empty() {
            preload.remove();
        }
        dir.keep();
        output.note(
            &Error::new(format!("ledgers kept in {shown}"))
                .help(format!("`lockwright report {shown}`")),
        );
    } else if !running.is_empty() {
        dir.abandon();
    }
}
