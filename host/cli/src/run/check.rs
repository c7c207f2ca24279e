//! `lockwright check`: run, watch, report.

use std::io::IsTerminal;
use std::process::ExitStatus;

use lockwright_ledger::Ledger;

use super::attach;
use super::doctor;
use super::ending::Ending;
use super::output::Output;
use super::prices::Calibration;
use super::prices::counts::Counts;
use super::session::{self, Plan, Session};
use super::watch::child::Program;
use super::watch::engines::Engines;
use crate::args::{CheckArgs, CheckersArgs, RunArgs, VerdictArgs, WholeArgs};
use crate::ledger_dir::{RunDir, Surroundings};
use crate::progress::Bar;
use lockwright_analysis::all_symbols::AllSymbols;
use lockwright_analysis::analyse_with;
use lockwright_analysis::finding::coverage::Completeness;
use lockwright_analysis::finding::{Finding, Report};
use lockwright_analysis::model::Symbolise;
use lockwright_analysis::progress::{Progress, Silent};
use lockwright_console::error::{Error, Result};
use lockwright_report::prose::told;
use lockwright_report::reports::Findings;

/// Runs the command.
///
/// # Errors
/// If the program cannot be run, or not be watched.
pub fn run(args: CheckArgs) -> Result<Ending> {
    if let Some(pid) = args.pid {
        return attach::run(pid, &args.output, &args.verdict);
    }
    let program = session::find(args.program)?;
    let around = Surroundings::current();
    let dir = session::run_dir(args.run.ledger_dir.as_deref(), &around)?;
    let mut output = Output::open(&args.output, &args.page)?.of(&args.verdict)?;
    let checked = check(&program, &args.run, &args.checkers, dir, &around, &mut output)?;
    Ok(checked.ending(&args.verdict, args.whole, &output))
}

/// What came of a run.
#[derive(Debug)]
pub struct Checked {
    /// The whole report; `None` if the program failed by itself before it could be watched.
    pub report: Option<Report>,
    /// How the program ended.
    pub status: ExitStatus,
    /// Whether it was watched whole.
    pub completeness: Completeness,
}

impl Checked {
    /// How to end in view of that.
    pub fn ending(&self, args: &VerdictArgs, whole: WholeArgs, output: &Output) -> Ending {
        let own = Ending::of_program(self.status);
        let with = |report| own.with_findings(output.judge(report).counted(), args);
        self.report.as_ref().map_or(own, with).with_gaps(&self.completeness, whole)
    }
}

/// Runs a program, shows the report, and leaves in `dir` what is to be kept.
///
/// # Errors
/// If the program cannot be run, or the report not be made.
pub fn check(
    program: &Program,
    args: &RunArgs,
    checkers: &CheckersArgs,
    dir: RunDir,
    around: &Surroundings,
    output: &mut Output,
) -> Result<Checked> {
    let engines = Engines {
        lockdep: true,
        objects: !checkers.no_objects,
        lockmeter: None,
        bounces: false,
        allocations: args.track_allocations,
    };
    let (on_deadlock, hang_after) = (checkers.on_deadlock, checkers.hang_after());
    let plan = Plan { program, engines, args, on_deadlock, hang_after };
    let session = Session::run(plan, dir, around, output)?;
    let status = session.status;
    let mut completeness = Completeness { gaps: session.missing.clone() };
    let (mut report, mut written) = (None, Ok(()));
    if !session.ledgers.is_empty() {
        let symbols = AllSymbols::new(&session.ledgers);
        let symbols = symbols.each();
        let mut found = find(&session.ledgers, &symbols, output);
        found.unwatched.clone_from(&session.unwatched);
        session.ends.settle(&mut found.processes);
        session.busy.tell(&mut found);
        session.deadlocks.tell(&mut found);
        found.summary.completeness.gaps.append(&mut completeness.gaps);
        completeness.clone_from(&found.summary.completeness);
        doctor::explain(&mut found);
        if found.summary.acquisitions > 0 {
            add_cost(&mut found, session.prices(), session.cpu_ns);
        }
        let files = {
            let judged = output.verdicts.judge(&found);
            let findings =
                Findings::new(&judged, output.verdicts.all).of(&session.ledgers, &symbols);
            output.sinks.write_files(&findings)
        };
        let shown = show(&found, &session, output);
        written = output.all(files.into_iter().chain([shown]));
        report = Some(found);
    }
    session.end(written.is_ok(), output);
    written.map(|()| Checked { report, status, completeness })
}

/// What is wrong, as the ledgers tell. Shows on a terminal how far it is.
pub fn find(ledgers: &[Ledger], symbols: &[&dyn Symbolise], output: &Output) -> Report {
    let begin_line = || output.begin_line(false);
    let progress: Box<dyn Progress + '_> =
        match std::io::stderr().is_terminal() && !output.is_in_file() {
            true => Box::new(Bar::new(&begin_line)),
            false => Box::new(Silent),
        };
    analyse_with(ledgers, symbols, output.verdicts.instances, &*progress)
}

/// Adds what watching cost the program, which took `program_ns` of CPU time.
pub fn add_cost(report: &mut Report, prices: Option<Calibration>, program_ns: f64) {
    let summary = &mut report.summary;
    summary.program_cpu_ns = Some(program_ns as u64);
    let counts = Counts::of_checked(&summary.recording, summary.acquisitions, summary.contended);
    let cost = prices.map(|prices| prices.cost(&counts, Some(program_ns)));
    summary.cost_per_acquisition_ns = cost.map(|cost| cost.pair_ns);
    summary.cost_ns = cost.map(|cost| cost.cpu_ns as u64);
}

/// Shows what was not told while the program ran.
///
/// # Errors
/// If a file cannot be written.
pub fn show(report: &Report, session: &Session<'_>, output: &mut Output) -> Result<()> {
    let deadlocks = &session.deadlocks;
    let untold = |finding: &Finding| !deadlocks.has_told(report, finding);
    let judged = output.verdicts.judge(report);
    let findings = Findings::new(&judged, output.verdicts.all);
    let shown = if !output.sinks.is_on_stderr() {
        output.sinks.show(&findings)
    } else if judged.counted().any(untold) || !deadlocks.any_told() {
        output.sinks.show(&findings.telling(&untold, deadlocks.any_told()))
    } else {
        Ok(())
    };
    for finding in deadlocks.ended(report) {
        output.note(&Error::new(format!(
            "process {}: the deadlock that was reported while the program ran has ended: {}",
            finding.pid,
            told(finding).title
        )));
    }
    let rest = output.finish(report, &session.ledgers);
    output.all([shown].into_iter().chain(rest))
}
