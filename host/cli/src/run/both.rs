//! `lockwright run`: watch and measure at once.

use super::avoid;
use super::check::{self, Checked};
use super::doctor;
use super::ending::Ending;
use super::endpoint;
use super::live::{Why, Wishes};
use super::meter;
use super::output::Output;
use super::output::exports::Exports;
use super::push;
use super::session::{self, Plan, Session};
use super::watch::engines::Engines;
use super::watch::steering::SteeringPlan;
use crate::args::BothArgs;
use crate::ledger_dir::Surroundings;
use lockwright_analysis::all_symbols::AllSymbols;
use lockwright_analysis::finding::coverage::Completeness;
use lockwright_console::error::Result;
use lockwright_report::lockmeter::view::View;
use lockwright_report::reports::{Findings, Measurement};

/// Runs the command.
///
/// # Errors
/// If the program cannot be run, or not be watched.
pub fn run(args: BothArgs) -> Result<Ending> {
    let program = session::find(args.program)?;
    let around = Surroundings::current();
    let dir = session::run_dir(args.run.ledger_dir.as_deref(), &around)?;
    let mut output = Output::open(&args.output, &args.page)?.of(&args.verdict)?;
    let mut exports = Exports::open(&args.view)?;
    let apart = avoid::findings(&args.avoid.avoid, &output)?;
    let steering = SteeringPlan::of(None, apart, avoid::LONGEST);
    let plan = Plan {
        program: &program,
        engines: Engines {
            lockdep: true,
            objects: !args.checkers.no_objects,
            lockmeter: Some(&args.metering),
            bounces: args.view.counts_bounces(),
            timeline: args.timeline.bytes(!args.view.timeline.is_empty()),
            allocations: args.run.track_allocations,
        },
        args: &args.run,
        wishes: Wishes {
            steering: steering.as_ref(),
            ..Wishes::new(&args.live, &args.time, &args.checkers.on_deadlock)
        },
        hang_after: args.checkers.hang_after(),
    };
    let listening =
        endpoint::listen(args.metering.listen.as_deref(), dir.path(), |note| output.note(note))?;
    let mut pushing = push::start(&args.push, &program.file, dir.path(), &output)?;
    let mut session = Session::run(plan, dir, &around, &mut output)?;
    drop(listening);
    if let Some(steering) = &steering {
        steering.note(&session.dir, &output);
    }
    let completeness = Completeness { gaps: session.missing.clone() };
    let own = session.ending();
    let is_aborted = session.live.stopped() == Some(Why::Finding);
    let mut checked = Checked { report: None, own, is_aborted, completeness };
    let mut written = Ok(());
    let mut is_pushed = true;
    if !session.ledgers.is_empty() {
        let prices = session.prices();
        let symbols = AllSymbols::new(&session.ledgers);
        let symbols = symbols.each();
        let mut found = check::find(&session.ledgers, &symbols, &output);
        found.unwatched.clone_from(&session.unwatched);
        session.ends.settle(&mut found.processes);
        session.busy.tell(&mut found);
        session.live.deadlocks.tell(&mut found);
        found.summary.completeness.gaps.append(&mut checked.completeness.gaps);
        checked.completeness.clone_from(&found.summary.completeness);
        doctor::explain(&mut found);
        check::add_cost(&mut found, prices, session.cpu_ns);
        let mut measured = meter::measure(&session, &symbols, prices);
        // The first report has said it, if so.
        measured.explained = true;
        let view = View { processes: false, ..args.view.view(args.metering.instances) };
        let long_waits = session.live.long_waits(&check::tokens(&found));
        let files = {
            let judged = output.verdicts.judge(&found);
            let findings = Findings::new(&judged, output.verdicts.all)
                .of(&session.ledgers, &symbols)
                .with(Some(&measured))
                .with_long_waits(long_waits.as_deref());
            output.sinks.write_files(&findings)
        };
        // The measurement tells it, with times.
        found.waiting.clear();
        let done = [
            check::show(&found, &session, &mut output),
            output.add(&Measurement { report: &measured, view, kernel: None, long_waits: None }),
            exports.write(&measured),
        ];
        let late = session.live.add_late(&mut output);
        session.live.conclude(&found, &output);
        written = output.all(files.into_iter().chain(done).chain([late]));
        is_pushed = pushing.take().is_none_or(|it| it.finish(Some(&measured), &output));
        checked.report = Some(found);
    }
    session.live.finish(&output);
    is_pushed &= pushing.is_none_or(|it| it.finish(None, &output));
    session.end(written.is_ok() && is_pushed, &output);
    written.map(|()| checked.ending(&args.verdict, args.whole, &output))
}
