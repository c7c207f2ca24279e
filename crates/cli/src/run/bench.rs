//! `lockwright bench`: the lab's measurements of locks.

use std::fmt::Display;
use std::time::Duration;

use lockwright_lab::bench::{self, Options};
use lockwright_lab::tables::{self, Parts};

use super::ending::Ending;
use super::output::Output;
use crate::args::{Bench, BenchArgs, BenchLocksArgs, BenchTablesArgs};
use crate::progress::Status;
use lockwright_report::error::{Error, Result, exit};

/// Exit code where figures are not to be believed.
const FAULT: u8 = 101;

/// Runs the command.
///
/// # Errors
/// If nothing is called so, figures are not to be believed, or a file cannot be written.
pub fn run(args: &BenchArgs) -> Result<Ending> {
    match &args.what {
        Bench::Locks(args) => locks(args),
        Bench::Tables(args) => tables(args),
    }
}

fn locks(args: &BenchLocksArgs) -> Result<Ending> {
    let mut output = Output::open(&args.output)?;
    let lengths = if args.smoke {
        Options::smoke()
    } else {
        Options {
            rounds: args.rounds.into(),
            interval: Duration::from_secs_f64(args.interval),
            ..Options::default()
        }
    };
    let options = Options { only: args.only.clone(), events: args.events, ..lengths };
    let status = Status::new();
    let report = bench::locks(&options, |what| status.show(what));
    drop(status);
    let report = report.map_err(|fault| no_figures(&fault))?;
    if report.sections.is_empty() {
        let only = args.only.as_deref().unwrap_or_default();
        return Err(Error::with_code(
            exit::USAGE,
            format!("nothing that is measured is called `{only}`"),
        )
        .help("without --only all is measured, and its names are seen"));
    }
    output.write_json_text(&format!("{:#}\n", report.json()))?;
    output.list(&report.text())?;
    Ok(Ending::Code(0))
}

fn tables(args: &BenchTablesArgs) -> Result<Ending> {
    let mut output = Output::open(&args.output)?;
    let tool = std::env::current_exe()
        .map_err(|error| Error::new(format!("lockwright's own file is not known: {error}")))?;
    let smoke = Options::smoke();
    let options = tables::Options {
        rounds: if args.smoke { smoke.rounds } else { args.rounds.into() },
        interval: if args.smoke { smoke.interval } else { Duration::from_secs_f64(args.interval) },
        smoke: args.smoke,
        only: args.only,
        tool,
        parts: Parts::new(args.parts.clone()),
    };
    let status = Status::new();
    let page = tables::measure(&options, &mut |what| status.show(what));
    drop(status);
    let page = page.map_err(|why| no_figures(&why))?;
    output.write_json_text(&format!("{:#}\n", page.json()))?;
    output.list(&page.markdown())?;
    let missing: Vec<_> = page.missing().collect();
    if args.complete
        && let Some((document, why)) = missing.first()
    {
        return Err(Error::new(format!(
            "{} figures are missing; the first, of document {document}: {why}",
            missing.len()
        )));
    }
    Ok(Ending::Code(0))
}

/// Something was measured that cannot be.
fn no_figures(why: &dyn Display) -> Error {
    Error::with_code(FAULT, why.to_string())
        .help("the figures would say nothing; a fault of lockwright, of the compiler or of this machine: report it")
}
