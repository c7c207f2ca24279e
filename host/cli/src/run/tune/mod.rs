//! `lockwright tune`: a command under one lock after the other, and which of them it is fastest with.

mod arm;
mod report;
mod rounds;
mod trial;
mod verdict;

use super::ending::Ending;
use super::output::sinks::Sinks;
use super::swap::locks;
use crate::args::TuneArgs;
use arm::Arm;
use lockwright_console::error::{Error, Result};
use lockwright_console::seed;
use lockwright_console::status::Status;
use report::Report;
use rounds::Metric;

/// Runs the command.
///
/// # Errors
/// If there is no such lock, the command cannot be run, a run fails or has no figure, or a file cannot be written.
pub fn run(args: &TuneArgs) -> Result<Ending> {
    let tool = std::env::current_exe()
        .map_err(|error| Error::new(format!("lockwright's own file is not known: {error}")))?;
    let arms = Arm::all(&args.locks);
    arms.iter().filter_map(Arm::lock).try_for_each(|lock| locks::find(lock).map(drop))?;
    let runner = rounds::runner(&args.command, tool)?;
    let mut output = Sinks::open(&args.output)?;
    let (metric, seed) = (Metric::of(&args.metric), seed::from_clock());
    let status = Status::new();
    let measured =
        rounds::measure(&runner, &arms, args.rounds, &metric, seed, &mut |what| status.show(what));
    drop(status);
    let report = Report::new(arms, metric, args.rounds, seed, measured?);
    output.write_json_text(&format!("{:#}\n", report.json()))?;
    output.list(&report.text())?;
    Ok(report.interrupted().map_or(Ending::Code(0), Ending::Signal))
}
