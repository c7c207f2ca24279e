//! `lockwright run`: watch and measure at once.

use super::check::{self, Checked};
use super::doctor;
use super::ending::Ending;
use super::engines::Engines;
use super::exports::Exports;
use super::meter;
use super::output::Output;
use super::session::{self, Plan, Session};
use crate::args::BothArgs;
use crate::ledger_dir::Surroundings;
use lockwright_analysis::all_symbols::AllSymbols;
use lockwright_analysis::finding::coverage::Completeness;
use lockwright_console::error::Result;
use lockwright_report::lockmeter::view::View;

/// Runs the command.
///
/// # Errors
/// If the program cannot be run, or not be watched.
pub fn run(args: BothArgs) -> Result<Ending> {
    let program = session::find(args.program)?;
    let around = Surroundings::current();
    let dir = session::run_dir(args.run.ledger_dir.as_deref(), &around)?;
    let mut output = Output::open(&args.output)?.with_page(&args.page)?.of(&args.verdict)?;
    let mut exports = Exports::open(&args.view)?;
    let plan = Plan {
        program: &program,
        engines: Engines {
            lockdep: true,
            objects: !args.checkers.no_objects,
            lockmeter: Some(&args.metering),
            bounces: args.view.counts_bounces(),
            allocations: args.run.track_allocations,
        },
        args: &args.run,
        on_deadlock: args.checkers.on_deadlock,
        hang_after: args.checkers.hang_after(),
    };
    let session = Session::run(plan, dir, &around, &mut output)?;
    let completeness = Completeness { gaps: session.missing.clone() };
    let mut checked = Checked { report: None, status: session.status, completeness };
    let mut written = Ok(());
    if !session.ledgers.is_empty() {
        let prices = session.prices();
        let symbols = AllSymbols::new(&session.ledgers);
        let symbols = symbols.each();
        let mut found = check::find(&session.ledgers, &symbols, &output);
        found.unwatched.clone_from(&session.unwatched);
        session.ends.settle(&mut found.processes);
        session.busy.tell(&mut found);
        found.summary.completeness.gaps.append(&mut checked.completeness.gaps);
        checked.completeness.clone_from(&found.summary.completeness);
        doctor::explain(&mut found);
        check::add_cost(&mut found, prices, session.cpu_ns);
        let mut measured = meter::measure(&session, &symbols, prices);
        // The first report has said it, if so.
        measured.explained = true;
        let view = View { processes: false, ..args.view.view(args.metering.instances) };
        let json = output.write_json(Some(&found), Some(&measured));
        let page = output.write_page(Some(&found), Some(&measured), &session.ledgers, &symbols);
        // The measurement tells it, with times.
        found.waiting.clear();
        let done = [
            json,
            page,
            check::show(&found, &session, &mut output),
            output.show_meter(&measured, view),
            exports.write(&measured),
        ];
        written = output.all(done);
        checked.report = Some(found);
    }
    session.end(written.is_ok(), &output);
    written.map(|()| checked.ending(&args.verdict, args.whole, &output))
}
