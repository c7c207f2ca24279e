//! `lockwright confirm`: what a check predicts is made to happen, or the report says what was in the way.

pub mod findings;
pub mod places;
mod runs;
mod source;
mod tally;
mod trial;
pub mod wanted;

use lockwright_analysis::all_symbols::AllSymbols;
use lockwright_console::error::Result;
use lockwright_report::reports::Findings;

use super::ending::Ending;
use super::live::Wishes;
use super::output::Output;
use super::session;
use super::{check, load};
use crate::args::{ConfirmArgs, LiveArgs};
use crate::ledger_dir::Surroundings;
use findings::confirm;
use runs::limit;
use source::Source;
use wanted::{Confirming, Job};

/// Runs the command.
///
/// # Errors
/// If the program cannot be run, or not be watched; if there are no findings where the user says; or if nothing can be
/// steered here.
pub fn run(args: ConfirmArgs) -> Result<Ending> {
    let program = session::find(args.program)?;
    let source = Source::open(args.from.as_deref())?;
    let confirming = Confirming {
        source: &source,
        chosen: &args.finding,
        runs: args.runs,
        steering: args.steering,
        budget: args.budget,
    };
    let mut output = Output::open(&args.output, &args.page)?.of(&args.verdict)?;
    let Source::Ledgers(paths) = &source else {
        let around = Surroundings::current();
        let dir = session::run_dir(args.run.ledger_dir.as_deref(), &around)?;
        let live = LiveArgs::default();
        let time = limit(args.steering.run_limit);
        let wishes = Wishes {
            confirm: Some(confirming),
            ..Wishes::new(&live, &time, &args.checkers.on_deadlock)
        };
        let checked =
            check::check(&program, &args.run, &args.checkers, wishes, dir, &around, &mut output)?;
        return Ok(checked.ending(&args.verdict, args.whole, &output));
    };
    let (ledgers, mut missing) = load::open_some(paths, |error| output.warn(error))?;
    let symbols = AllSymbols::new(&ledgers);
    let symbols = symbols.each();
    let mut report = check::find(&ledgers, &symbols, &output);
    report.summary.completeness.gaps.append(&mut missing);
    // What was under way then.
    report.waiting.clear();
    let objects = !args.checkers.no_objects;
    let job = Job { program: &program, run: &args.run, objects, confirming };
    // What was found is shown all the same.
    let confirmed = confirm(&mut report, &job, &output);
    let files = {
        let judged = output.verdicts.judge(&report);
        let findings = Findings::new(&judged, output.verdicts.all).of(&ledgers, &symbols);
        output.sinks.write_files(&findings)
    };
    let shown = output.show(&report, |_| true);
    let rest = output.finish(&report, &ledgers);
    output.all(files.into_iter().chain([shown]).chain(rest))?;
    confirmed?;
    let judged = output.judge(&report);
    let ending = Ending::Code(0).with_findings(judged.counted(), &args.verdict);
    Ok(ending.with_gaps(&report.summary.completeness, args.whole))
}
