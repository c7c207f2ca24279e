//! `lockwright diff`: measurements before and after, side by side.

use std::path::PathBuf;

use super::ending::Ending;
use super::load;
use super::output::sinks::Sinks;
use super::watch::end_file;
use crate::args::DiffArgs;
use lockwright_analysis::lockmeter::diff::compare;
use lockwright_analysis::lockmeter::model::{self, MeterReport};
use lockwright_console::error::{Error, Result, exit};
use lockwright_report::lockmeter::diff::{Judged, Verdict};
use lockwright_report::reports::Compared;

/// Runs the command.
///
/// # Errors
/// If a run cannot be read or has no measurement, or a condition not be judged.
pub fn run(args: &DiffArgs) -> Result<Ending> {
    let mut output = Sinks::open(&args.output)?.with_page(&args.page)?;
    let comparison = compare(read(&args.before, &output)?, read(&args.after, &output)?);
    let mut judged: Vec<Judged> = Vec::new();
    for condition in &args.fail_if {
        judged.extend(condition.judge(&comparison)?);
    }
    let report = Compared { comparison: &comparison, judged: &judged, top: args.top };
    output.write_files(&report).into_iter().collect::<Result<()>>()?;
    output.list_report(&report)?;
    let failed = judged.iter().any(|one| one.verdict == Verdict::Exceeded);
    Ok(Ending::Code(if failed { exit::FINDING } else { 0 }))
}

/// One measurement for each run, however many processes it had.
fn read(arguments: &[PathBuf], output: &Sinks) -> Result<Vec<MeterReport>> {
    load::runs(arguments)?.iter().map(|run| read_run(run, output)).collect()
}

fn read_run(argument: &PathBuf, output: &Sinks) -> Result<MeterReport> {
    let paths = load::expand(std::slice::from_ref(argument))?;
    let (ledgers, _) = load::open_some(&paths, |error| output.warn(error))?;
    if !ledgers.iter().any(model::is_metered) {
        return Err(Error::new(format!("nothing was measured in {}", argument.display()))
            .note("its ledgers are those of a program that was watched, not measured")
            .help("`lockwright meter --keep -- PROGRAM` makes ledgers that can be compared"));
    }
    Ok(model::build(&ledgers, &end_file::read(std::slice::from_ref(argument))))
}
