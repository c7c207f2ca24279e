//! `lockwright merge`: what several runs and processes make together.

use std::collections::HashSet;
use std::io::IsTerminal;
use std::path::PathBuf;

use lockwright_ledger::Ledger;

use super::ending::Ending;
use super::load;
use super::output::Output;
use super::report::is_checked;
use crate::args::MergeArgs;
use crate::progress::Bar;
use lockwright_analysis::all_symbols::AllSymbols;
use lockwright_analysis::finding::coverage::Gap;
use lockwright_analysis::merge::{Given, merge_with};
use lockwright_analysis::progress::{Progress, Silent};
use lockwright_console::error::{Error, Result};
use lockwright_report::reports::Findings;

/// Runs the command.
///
/// # Errors
/// If fewer than two processes can be read, or the report not be written.
pub fn run(args: &MergeArgs) -> Result<Ending> {
    let mut output = Output::open(&args.output, &args.page)?.of(&args.verdict)?;
    let (runs, ledgers, mut missing) = read(&args.ledgers, &output)?;
    let begin_line = || output.begin_line(false);
    let progress: Box<dyn Progress + '_> =
        match std::io::stderr().is_terminal() && !output.is_in_file() {
            true => Box::new(Bar::new(&begin_line)),
            false => Box::new(Silent),
        };
    let symbols = AllSymbols::new(&ledgers);
    let symbols = symbols.each();
    let mut merged = merge_with(&runs, &ledgers, &symbols, &*progress);
    merged.report.summary.completeness.gaps.append(&mut missing);
    drop(progress);
    let judged = output.verdicts.judge(&merged.report);
    let report =
        Findings::new(&judged, output.verdicts.all).of_runs(&merged.runs).of(&ledgers, &symbols);
    let files = output.sinks.write_files(&report);
    let shown = output.sinks.show(&report);
    let rest = output.finish(&merged.report, &ledgers);
    output.all(files.into_iter().chain([shown]).chain(rest))?;
    let judged = output.judge(&merged.report);
    Ok(Ending::Code(0)
        .with_findings(judged.counted(), &args.verdict)
        .with_gaps(&merged.report.summary.completeness, args.whole))
}

/// The runs, and the ledgers of all in one list. A process counts once, however
/// often it is named.
fn read(arguments: &[PathBuf], output: &Output) -> Result<(Vec<Given>, Vec<Ledger>, Vec<Gap>)> {
    let mut runs = Vec::new();
    let mut all: Vec<Ledger> = Vec::new();
    let mut seen = HashSet::new();
    let mut last = None;
    let mut missing = Vec::new();
    for argument in &load::runs(arguments)? {
        let paths = load::expand(std::slice::from_ref(argument))?;
        let (mut ledgers, errors) = load::open_all(&paths);
        missing.append(&mut load::missing(&errors));
        for error in errors {
            output.warn(&error);
            last = Some(error);
        }
        let before = ledgers.len();
        ledgers.retain(|ledger| seen.insert(ledger.header().token));
        if ledgers.len() < before {
            let shown = argument.display();
            output.warn(&Error::new(format!(
                "{shown} is named twice, or a part of it: counted once"
            )));
        }
        ledgers.retain(is_checked);
        if !ledgers.is_empty() {
            runs.push(Given { name: argument.display().to_string(), processes: ledgers.len() });
        }
        all.append(&mut ledgers);
    }
    match (all.len(), last) {
        (0, Some(error)) => Err(error),
        (0 | 1, _) => Err(Error::new(format!("{} of a process to merge", few(all.len())))
            .note("deadlocks that show in one process alone are those of `lockwright report`")
            .help("keep the ledgers of several runs and name all of them: `lockwright check --keep -- PROGRAM`")),
        _ => Ok((runs, all, missing)),
    }
}

fn few(ledgers: usize) -> &'static str {
    if ledgers == 0 { "no ledger" } else { "only one ledger" }
}
