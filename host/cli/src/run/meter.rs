//! `lockwright meter`: run, measure, report.

use super::doctor;
use super::ending::Ending;
use super::endpoint;
use super::live::Wishes;
use super::output::Output;
use super::output::exports::Exports;
use super::prices::Calibration;
use super::prices::cost_file;
use super::push;
use super::session::{self, Plan, Session};
use super::traced::{self, KernelWaits};
use super::watch::engines::Engines;
use crate::args::{LiveArgs, MeterArgs, OnDeadlock};
use crate::ledger_dir::Surroundings;
use lockwright_analysis::Recording;
use lockwright_analysis::all_symbols::AllSymbols;
use lockwright_analysis::finding::coverage::Completeness;
use lockwright_analysis::lockmeter::model::{self, MeterReport};
use lockwright_analysis::model::Symbolise;
use lockwright_analysis::traced::every_wait;
use lockwright_console::error::Result;
use lockwright_report::reports::{KernelToo, Measurement};

/// Runs the command.
///
/// # Errors
/// If the program cannot be run, or not be measured.
pub fn run(args: MeterArgs) -> Result<Ending> {
    if let Some(done) = traced::run(&args) {
        return done;
    }
    let program = session::find(args.program)?;
    let around = Surroundings::current();
    let dir = session::run_dir(args.run.ledger_dir.as_deref(), &around)?;
    let mut output = Output::open(&args.output, &args.page)?;
    let mut exports = Exports::open(&args.view)?;
    // Nobody looks for findings, but a command may be run for what there is.
    let findings = LiveArgs { on_finding: args.on_finding.clone(), ..LiveArgs::default() };
    let plan = Plan {
        program: &program,
        engines: Engines {
            lockdep: false,
            objects: false,
            lockmeter: Some(&args.metering),
            bounces: args.view.counts_bounces(),
            timeline: args.timeline.bytes(!args.view.timeline.is_empty()),
            allocations: args.run.track_allocations,
        },
        args: &args.run,
        wishes: Wishes::new(&findings, &args.time, &OnDeadlock::Report),
        hang_after: None,
    };
    let kernel = args.with_kernel.then(KernelWaits::start).transpose()?;
    let listening =
        endpoint::listen(args.metering.listen.as_deref(), dir.path(), |note| output.note(note))?;
    let mut pushing = push::start(&args.push, &program.file, dir.path(), &output)?;
    let mut session = Session::run(plan, dir, &around, &mut output)?;
    drop(listening);
    let mut completeness = Completeness { gaps: session.missing.clone() };
    let mut written = Ok(());
    let mut is_pushed = true;
    if !session.ledgers.is_empty() {
        let symbols = AllSymbols::new(&session.ledgers);
        let symbols = symbols.each();
        let mut measured = measure(&session, &symbols, session.prices());
        doctor::explain_measurement(&mut measured);
        completeness.clone_from(&measured.completeness);
        let kernel = kernel.map(|kernel| kernel.finish(&measured)).transpose();
        let kernel = kernel.unwrap_or_else(|error| {
            output.warn(&error);
            None
        });
        let waits = kernel.as_ref().map(|(kernel, futexes)| every_wait(&measured, futexes, kernel));
        let kernel = kernel.as_ref().map(|(kernel, _)| kernel).zip(waits.as_deref());
        let tokens: Vec<u64> = measured.processes.iter().map(|it| it.token).collect();
        let long_waits = session.live.long_waits(&tokens);
        let report = Measurement {
            long_waits: long_waits.as_deref(),
            report: &measured,
            view: args.view.view(args.metering.instances),
            kernel: kernel.map(|(kernel, waits)| KernelToo { waits, kernel }),
        };
        let files = output.write_files(&report);
        let done =
            [output.add(&report), exports.write(&measured), session.live.add_late(&mut output)];
        written = output.all(files.into_iter().chain(done));
        session.live.advise(&measured);
        is_pushed = pushing.take().is_none_or(|it| it.finish(Some(&measured), &output));
    }
    session.live.finish(&output);
    let ending = session.ending().with_gaps(&completeness, args.whole);
    is_pushed &= pushing.is_none_or(|it| it.finish(None, &output));
    session.end(written.is_ok() && is_pushed, &output);
    written.map(|()| ending)
}

/// What was measured, and at what cost, which is left next to ledgers that are kept.
pub fn measure(
    session: &Session<'_>,
    symbols: &[&dyn Symbolise],
    prices: Option<Calibration>,
) -> MeterReport {
    let mut report = model::build_with(&session.ledgers, symbols, &[session.ended]);
    report.unwatched.clone_from(&session.unwatched);
    session.ends.settle(&mut report.processes);
    report.completeness.gaps.extend_from_slice(&session.missing);
    if let Some(prices) = prices {
        let known = cost_file::Known { prices, program_cpu_ns: Some(session.cpu_ns) };
        report.cost = Some(known.cost(&report, Recording::of(&session.ledgers)));
        if session.is_kept() {
            // Without it, a later report merely does not know.
            let _ = known.write(&session.dir);
        }
    }
    report
}
