//! Before any finding is tried, a planted deadlock has to come.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use lockwright_analysis::analyse;
use lockwright_analysis::finding::{Finding, Instances, Kind};
use lockwright_analysis::progress::Silent;
use lockwright_console::error::{Error, Result};

use super::places::Places;
use super::runs::{run_once, steered};
use super::tally::Tally;
use super::wanted::{Confirming, Job};
use crate::args::SteeringArgs;
use crate::ledger_dir::{RunDir, Surroundings};
use crate::run::watch::child::Program;

/// Compiled from demo/trial.c by the build script.
static BINARY: &[u8] = include_bytes!(env!("LOCKWRIGHT_TRIAL"));

/// Long enough for the second thread on a machine that does much else.
const PAUSE: Duration = Duration::from_secs(30);

/// Runs for the planted deadlock, at most.
const RUNS: u32 = 2;

/// Confirms the planted deadlock in the same way as the findings.
///
/// # Errors
/// If it does not come.
pub fn prove(job: &Job<'_>) -> Result<()> {
    let around = Surroundings::current();
    let mut dir = RunDir::create(job.run.ledger_dir.as_deref(), &around)?;
    let home = dir.executable_home(&around, |_| true).ok_or_else(|| {
        Error::new("no place to unpack the program that shows that threads can be held up here")
            .help("name a directory on a file system mounted without noexec: --ledger-dir DIR")
    })?;
    let file = home.join("demo");
    let unpacked = OpenOptions::new().write(true).create_new(true).mode(0o755).open(&file);
    unpacked.and_then(|mut out| out.write_all(BINARY)).map_err(|error| {
        Error::new(format!("cannot unpack a program to {}: {error}", home.display()))
    })?;
    let program = Program { argv: vec![file.clone().into()], file };
    let steering = SteeringArgs { pause: PAUSE, run_limit: None };
    let confirming = Confirming { steering, ..job.confirming };
    let trial = Job { program: &program, confirming, ..*job };
    let report =
        run_once(&trial, None, None, |it| analyse(&it.ledgers, Instances::Folded, &Silent))?;
    let is_planted = |finding: &&Finding| finding.kind == Kind::CircularDependency;
    let places = report.findings.iter().find(is_planted).and_then(Places::of);
    let places = places.ok_or_else(|| failed("its order was not found"))?;
    let mut tally = Tally::new(&places);
    for run in 1..=RUNS {
        steered(&trial, &places, run, PAUSE, None, &mut tally)?;
        if tally.deadlocked() > 0 {
            return Ok(());
        }
    }
    Err(failed("it did not come"))
}

fn failed(why: &str) -> Error {
    Error::new(format!(
        "threads cannot be held up here: a planted deadlock was not confirmed: {why}"
    ))
    .note("so nothing can be said of findings that do not come")
    .help("please report it, with your distribution, glibc version and processor")
}
