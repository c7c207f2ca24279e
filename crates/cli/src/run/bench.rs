//! `lockwright bench`: the lab's measurements of locks.

use std::time::Duration;

use lockwright_lab::bench::{self, Options};

use super::ending::Ending;
use super::output::Output;
use crate::args::{Bench, BenchArgs};
use crate::progress::Status;
use lockwright_report::error::{Error, Result, exit};

/// Exit code where figures are not to be believed.
const FAULT: u8 = 101;

/// Runs the command.
///
/// # Errors
/// If nothing is called so, or a file cannot be written.
pub fn run(args: &BenchArgs) -> Result<Ending> {
    let Bench::Locks = args.what;
    let mut output = Output::open(&args.output)?;
    let options = Options {
        only: args.only.clone(),
        events: args.events,
        ..if args.smoke { Options::smoke() } else { wanted(args) }
    };
    let status = Status::new();
    let report = bench::locks(&options, |what| status.show(what));
    drop(status);
    let report = report.map_err(|fault| {
        Error::with_code(FAULT, fault.to_string())
            .help("the figures would say nothing; a fault of lockwright, of the compiler or of this machine: report it")
    })?;
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

fn wanted(args: &BenchArgs) -> Options {
    Options {
        rounds: args.rounds.into(),
        interval: Duration::from_secs_f64(args.interval),
        ..Options::default()
    }
}
