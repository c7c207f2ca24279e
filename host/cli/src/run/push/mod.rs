//! `--push`: profiles of what threads waited for, sent to a server while the program runs; and `lockwright push`, which sends
//! what is left.

mod admission;
mod client;
mod command;
mod courier;
mod delivery;
mod identity;
mod progress;
mod target;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::clocks::realtime_ns;
use super::output::Output;
use crate::args::PushArgs;
use crate::ledger_dir::watched_in;
use client::{ATTEMPT, Client};
use courier::{Courier, Failure, Sent};
use identity::of_program;
use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_console::error::{Error, Result, exit};
use lockwright_report::lockmeter::contention::{Sample, samples};
use progress::{Claim, Progress};
use target::Target;
use worker::{Left, Work, Worker};

pub use admission::AUTHORIZATION;
pub use command::send;

/// After the report, lockwright ends that much later at most.
const LONGEST_END: Duration = Duration::from_secs(10);

/// Pushes, while the program runs.
pub struct Pushing {
    worker: Worker,
    address: String,
    dir: PathBuf,
}

/// Begins to push the run in `dir` of the program `file`, if that is asked for.
///
/// # Errors
/// If the options are wrong, or a file cannot be read.
pub fn start(args: &PushArgs, file: &Path, dir: &Path, output: &Output) -> Result<Option<Pushing>> {
    let Some(url) = args.push.clone() else { return Ok(None) };
    let target = Target::parse(&url)?;
    let identity = of_program(file, args.push_name.as_deref(), args.push_label.clone());
    let fits = identity.check(target.shape);
    fits.map_err(|why| Error::with_code(exit::USAGE, format!("--push {url}: {why}")))?;
    let address = target.to_string();
    let client = Arc::new(Client::new(target, &args.admission)?);
    let claim = Claim::take(dir).map_err(|error| {
        Error::new(format!("cannot push the run in {}: {error}", dir.display()))
    })?;
    let progress = Progress::new(url.clone(), identity, realtime_ns());
    let work = Work {
        courier: Courier::new(Arc::clone(&client), claim, progress),
        client,
        url,
        dir: dir.to_owned(),
        interval: args.push_interval,
        voice: output.voice(),
    };
    Ok(Some(Pushing { worker: Worker::start(work)?, address, dir: dir.to_owned() }))
}

impl Pushing {
    /// Sends the last of it, of the whole measurement. Returns whether the ledgers are not needed for that any more.
    pub fn finish(self, report: Option<&MeterReport>, output: &Output) -> bool {
        let deadline = Instant::now() + LONGEST_END;
        let Some(mut left) = self.worker.stop(LONGEST_END) else {
            tell(output, &self.dir, format!("the last push to {} takes too long", self.address));
            return false;
        };
        std::mem::take(&mut left.remarks).iter().for_each(|remark| output.note(remark));
        let samples = report.map(samples).unwrap_or_default();
        let done = last(&mut left, &samples, deadline);
        std::mem::take(&mut left.courier.remarks).iter().for_each(|remark| output.warn(remark));
        if let Err(failure) = done {
            let what = format!("{} not pushed to {}", left.courier.left(&samples), self.address);
            tell(output, &self.dir, format!("{what}: {}", failure.why));
            return false;
        }
        if !watched_in(&self.dir).is_empty() {
            // The next run sends what its processes do yet.
            return true;
        }
        left.courier.finish();
        true
    }
}

fn last(
    left: &mut Left,
    samples: &[Sample],
    deadline: Instant,
) -> std::result::Result<Sent, Failure> {
    let rest = deadline.saturating_duration_since(Instant::now());
    if left.not_before.is_some_and(|at| at > Instant::now()) && !left.courier.has_all(samples) {
        let why = "the server asked to be left alone for a while".to_owned();
        return Err(Failure { why, after: None });
    }
    // There may be two requests.
    left.courier.push(samples, realtime_ns(), ATTEMPT.min(rest / 2))
}

fn tell(output: &Output, dir: &Path, what: String) {
    let dir = dir.display();
    output.warn(&Error::new(what).help(format!(
        "`lockwright push {dir}` sends the rest, and so does the next run with the same --push"
    )));
}
