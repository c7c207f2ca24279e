//! `lockwright report`: the reports of ledgers that are there already.

use lockwright_ledger::Ledger;
use lockwright_ledger::layout::engines;

use super::ending::Ending;
use super::output::Output;
use super::output::exports::Exports;
use super::prices::cost_file;
use super::usage::explain;
use super::watch::end_file;
use super::watch::generated_code;
use super::watch::unwatched;
use super::{check, doctor, load};
use crate::args::ReportArgs;
use crate::ledger_dir::with_writers;
use lockwright_analysis::Recording;
use lockwright_analysis::all_symbols::AllSymbols;
use lockwright_analysis::finding::Unwatched;
use lockwright_analysis::lockmeter::model;
use lockwright_analysis::process_end::Ends;
use lockwright_console::error::Result;
use lockwright_report::listing;
use lockwright_report::reports::{Findings, Measurement};

/// Runs the command.
///
/// # Errors
/// If no ledger can be read, or the report not be written.
pub fn run(args: &ReportArgs) -> Result<Ending> {
    if let Some(kind) = &args.explain {
        return explain::run(kind);
    }
    let paths = load::expand(&args.ledgers)?;
    let mut output = Output::open(&args.output, &args.page)?.of(&args.verdict)?;
    let mut exports = Exports::open(&args.view)?;
    let (mut ledgers, mut missing) = load::open_some(&paths, |error| output.warn(error))?;
    generated_code::recall(&mut ledgers, &args.ledgers);
    if let Some(listing) = args.listing.listing() {
        output.list(&listing::render(listing, &ledgers))?;
        return Ok(Ending::Code(0));
    }
    let unwatched: Vec<Unwatched> =
        args.ledgers.iter().flat_map(|dir| unwatched::processes(dir, &ledgers)).collect();
    let ends = Ends::new(end_file::read(&args.ledgers), with_writers(&paths));
    let first = ends.waited_for.first().map(|end| end.pid);
    missing.extend(unwatched::gaps(&unwatched, first));
    let symbols = AllSymbols::new(&ledgers);
    let symbols = symbols.each();
    // One after the other: either takes much memory while it is made, and little of that stays.
    let mut found = ledgers.iter().any(is_checked).then(|| {
        let mut report = check::find(&ledgers, &symbols, &output);
        ends.settle(&mut report.processes);
        report.unwatched.clone_from(&unwatched);
        report.summary.completeness.gaps.extend_from_slice(&missing);
        doctor::explain(&mut report);
        report
    });
    let measured = ledgers.iter().any(model::is_metered).then(|| {
        let mut report = model::build_with(&ledgers, &symbols, &ends.waited_for);
        ends.settle(&mut report.processes);
        report.unwatched.clone_from(&unwatched);
        report.completeness.gaps.extend_from_slice(&missing);
        doctor::explain_measurement(&mut report);
        report.cost = cost_file::Known::read(&args.ledgers)
            .map(|known| known.cost(&report, Recording::of(&ledgers)));
        report
    });
    let mut view = args.view.view(args.instances);
    view.processes = found.is_none();
    let measurement = measured.as_ref().map(|report| Measurement {
        report,
        view,
        kernel: None,
        long_waits: None,
    });
    let mut done = Vec::new();
    if let Some(found) = &found {
        let judged = output.verdicts.judge(found);
        let findings = Findings::new(&judged, output.verdicts.all)
            .of(&ledgers, &symbols)
            .with(measured.as_ref());
        done.extend(output.sinks.write_files(&findings));
    } else if let Some(measurement) = &measurement {
        done.extend(output.write_files(measurement));
    }
    if let Some(found) = &mut found {
        if measured.is_some() {
            // That tells it, with times.
            found.waiting.clear();
        }
        done.push(output.show(found, |_| true));
        done.extend(output.finish(found, &ledgers));
    }
    if let Some(measurement) = &measurement {
        done.push(output.add(measurement));
        done.push(exports.write(measurement.report));
    }
    output.all(done)?;
    let mut ending = Ending::Code(0);
    if let Some(found) = &found {
        ending = ending
            .with_findings(output.judge(found).counted(), &args.verdict)
            .with_gaps(&found.summary.completeness, args.whole);
    }
    Ok(measured.map_or(ending, |measured| ending.with_gaps(&measured.completeness, args.whole)))
}

/// Whether lockdep or debugobjects wrote the ledger; of a ledger without any engine it
/// reports that there is nothing.
pub fn is_checked(ledger: &Ledger) -> bool {
    let wrote = ledger.header().engines;
    wrote & (engines::LOCKDEP | engines::DEBUGOBJECTS) != 0 || wrote & engines::LOCKMETER == 0
}
