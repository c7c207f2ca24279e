//! `lockwright report`: the report of ledgers that are there already.

use std::io::IsTerminal;

use super::ending::Ending;
use super::load;
use super::output::Output;
use crate::args::ReportArgs;
use crate::error::Result;
use crate::progress::{Bar, Progress, Silent};
use crate::{analysis, listing};

/// Runs the command.
///
/// # Errors
/// If no ledger can be read, or the report not be written.
pub fn run(args: &ReportArgs) -> Result<Ending> {
    let paths = load::expand(&args.ledgers)?;
    let mut output = Output::open(&args.output)?;
    let (ledgers, mut errors) = load::open_all(&paths);
    if ledgers.is_empty()
        && let Some(error) = errors.pop()
    {
        errors.iter().for_each(|error| output.warn(error));
        return Err(error);
    }
    errors.iter().for_each(|error| output.warn(error));
    if let Some(listing) = args.listing.listing() {
        output.list(&listing::render(listing, &ledgers))?;
        return Ok(Ending::Code(0));
    }
    let progress: Box<dyn Progress> =
        if std::io::stderr().is_terminal() { Box::new(Bar::new()) } else { Box::new(Silent) };
    let report = analysis::analyse(&ledgers, &*progress);
    drop(progress);
    output.write_json(&report)?;
    output.show(&report)?;
    output.add_stats(&ledgers)?;
    Ok(Ending::Code(0).with_findings(&report, &args.output))
}
