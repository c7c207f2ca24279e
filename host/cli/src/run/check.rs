//! `lockwright check`: run, watch, report.

use std::io::IsTerminal;

use lockwright_ledger::Ledger;

use super::confirm::findings as confirm;
use super::confirm::wanted::{Confirming, Job};
use super::doctor;
use super::ending::Ending;
use super::live::{Why, Wishes};
use super::output::Output;
use super::prices::Calibration;
use super::prices::counts::Counts;
use super::session::{self, Plan, Session};
use super::usage::explain;
use super::watch::child::Program;
use super::watch::engines::Engines;
use super::watch::steering::SteeringPlan;
use super::{attach, avoid};
use crate::args::{CheckArgs, CheckersArgs, RunArgs, VerdictArgs, WholeArgs};
use crate::ledger_dir::{RunDir, Surroundings};
use crate::progress::Bar;
use lockwright_analysis::all_symbols::AllSymbols;
use lockwright_analysis::analyse_with;
use lockwright_analysis::finding::coverage::Completeness;
use lockwright_analysis::finding::{Finding, Report};
use lockwright_analysis::model::Symbolise;
use lockwright_analysis::progress::{Progress, Silent};
use lockwright_console::error::Result;
use lockwright_report::reports::Findings;

/// Runs the command.
///
/// # Errors
/// If the program cannot be run, or not be watched.
pub fn run(args: CheckArgs) -> Result<Ending> {
    if let Some(kind) = &args.explain {
        return explain::run(kind);
    }
    if let Some(pid) = args.pid {
        return attach::run(pid, &args.output, &args.verdict);
    }
    let program = session::find(args.program)?;
    let around = Surroundings::current();
    let dir = session::run_dir(args.run.ledger_dir.as_deref(), &around)?;
    let mut output = Output::open(&args.output, &args.page)?.of(&args.verdict)?;
    let schedules = &args.schedules;
    let confirming = schedules.confirm.map(Confirming::within);
    let apart = avoid::findings(&args.avoid.avoid, &output)?;
    let steering = SteeringPlan::of(schedules.perturb, apart, avoid::LONGEST);
    let wishes = Wishes {
        confirm: confirming,
        steering: steering.as_ref(),
        ..Wishes::new(&args.live, &args.time, &args.checkers.on_deadlock)
    };
    let checked = check(&program, &args.run, &args.checkers, wishes, dir, &around, &mut output)?;
    Ok(checked.ending(&args.verdict, args.whole, &output))
}

/// What came of a run.
#[derive(Debug)]
pub struct Checked {
    /// The whole report; `None` if the program failed by itself before it could be watched.
    pub report: Option<Report>,
    /// How to end, if nothing was found.
    pub own: Ending,
    /// The run was ended because of a finding.
    pub is_aborted: bool,
    /// Whether it was watched whole.
    pub completeness: Completeness,
}

impl Checked {
    /// How to end in view of that.
    pub fn ending(&self, args: &VerdictArgs, whole: WholeArgs, output: &Output) -> Ending {
        let own = self.own;
        if self.is_aborted && args.exit_code != 0 {
            return Ending::Code(args.exit_code);
        }
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
    wishes: Wishes<'_>,
    dir: RunDir,
    around: &Surroundings,
    output: &mut Output,
) -> Result<Checked> {
    let engines = Engines {
        lockdep: true,
        objects: !checkers.no_objects,
        lockmeter: None,
        bounces: false,
        timeline: None,
        allocations: args.track_allocations,
    };
    let plan = Plan { program, engines, args, wishes, hang_after: checkers.hang_after() };
    let mut session = Session::run(plan, dir, around, output)?;
    if let Some(plan) = wishes.steering {
        plan.note(&session.dir, output);
    }
    let own = session.ending();
    let is_aborted = session.live.stopped() == Some(Why::Finding);
    let mut completeness = Completeness { gaps: session.missing.clone() };
    let (mut report, mut written) = (None, Ok(()));
    // What was found is shown all the same.
    let mut confirmed = Ok(());
    if !session.ledgers.is_empty() {
        let symbols = AllSymbols::new(&session.ledgers);
        let symbols = symbols.each();
        let mut found = find(&session.ledgers, &symbols, output);
        found.unwatched.clone_from(&session.unwatched);
        session.ends.settle(&mut found.processes);
        session.busy.tell(&mut found);
        session.live.deadlocks.tell(&mut found);
        found.summary.completeness.gaps.append(&mut completeness.gaps);
        completeness.clone_from(&found.summary.completeness);
        doctor::explain(&mut found);
        if found.summary.acquisitions > 0 {
            add_cost(&mut found, session.prices(), session.cpu_ns);
        }
        if let Some(confirming) = wishes.confirm {
            let job = Job { program, run: args, objects: !checkers.no_objects, confirming };
            confirmed = confirm::confirm(&mut found, &job, output);
        }
        let long_waits = session.live.long_waits(&tokens(&found));
        let files = {
            let judged = output.verdicts.judge(&found);
            let findings = Findings::new(&judged, output.verdicts.all)
                .of(&session.ledgers, &symbols)
                .with_long_waits(long_waits.as_deref());
            output.sinks.write_files(&findings)
        };
        let shown = show(&found, &session, output);
        let late = session.live.add_late(output);
        session.live.conclude(&found, output);
        written = output.all(files.into_iter().chain([shown, late]));
        report = Some(found);
    }
    session.live.finish(output);
    session.end(written.is_ok(), output);
    written.and(confirmed).map(|()| Checked { report, own, is_aborted, completeness })
}

/// What the ledgers of a report's processes are known by.
pub fn tokens(report: &Report) -> Vec<u64> {
    report.processes.iter().map(|process| process.token).collect()
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
    let counts = Counts::of_checked(&summary.recording, summary.acquisitions);
    let cost = prices.map(|prices| prices.cost(&counts, Some(program_ns)));
    summary.cost_per_acquisition_ns = cost.map(|cost| cost.pair_ns);
    summary.cost_ns = cost.map(|cost| cost.cpu_ns as u64);
}

/// Shows what was not told while the program ran.
///
/// # Errors
/// If a file cannot be written.
pub fn show(report: &Report, session: &Session<'_>, output: &mut Output) -> Result<()> {
    let (told, is_live) = (session.live.told(), session.live.is_searched());
    let outcome = told.outcome(report);
    let untold = |finding: &Finding| outcome.shows(report, finding);
    let judged = output.verdicts.judge(report);
    let findings = Findings::new(&judged, output.verdicts.all);
    let has_all = if is_live { output.sinks.is_in_file() } else { !output.sinks.is_on_stderr() };
    let shown = if has_all {
        output.sinks.show(&findings)
    } else if is_live {
        // What was shown then is counted here.
        let findings = findings.telling(&untold, !told.is_empty()).after(told.len());
        output.sinks.show(&findings)
    } else if judged.counted().any(untold) || told.is_empty() {
        output.sinks.show(&findings.telling(&untold, !told.is_empty()))
    } else {
        Ok(())
    };
    let rest = output.finish(report, &session.ledgers);
    output.all([shown].into_iter().chain(rest))
}
