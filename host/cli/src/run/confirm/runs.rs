//! Runs of the program for one finding, in which its threads are held up.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use lockwright_analysis::analyse;
use lockwright_analysis::finding::Instances;
use lockwright_analysis::progress::Silent;
use lockwright_console::args::{Colour, OutputArgs};
use lockwright_console::error::{Error, Result};

use super::places::Places;
use super::tally::Tally;
use super::wanted::Job;
use crate::args::{LiveArgs, OnDeadlock, PageArgs, TimeArgs};
use crate::ledger_dir::Surroundings;
use crate::run::live::Wishes;
use crate::run::output::Output;
use crate::run::session::{self, Plan, Session};
use crate::run::watch::engines::Engines;
use crate::run::watch::steering::{self, SteeringPlan};

/// All pauses of a run may take so many times the longest together.
const PAUSES: u32 = 20;

/// What came of a run.
pub struct Outcome {
    /// In a few words.
    pub words: String,
    /// The user ended it.
    pub is_interrupted: bool,
}

/// One run in which threads are held up at these places, in the way of that run, from 1.
///
/// # Errors
/// If the program cannot be run or watched.
pub fn steered(
    job: &Job<'_>,
    places: &Places,
    way: u32,
    longest: Duration,
    rest: Option<Duration>,
    tally: &mut Tally,
) -> Result<Outcome> {
    let plan = SteeringPlan {
        places: places.of_run(way),
        longest,
        total: job.confirming.steering.pause * PAUSES,
        ..SteeringPlan::default()
    };
    let limit = [job.confirming.steering.run_limit, rest].into_iter().flatten().min();
    run_once(job, Some(&plan), limit, |session| {
        let counts = steering::outcome(&session.dir).ok_or_else(|| {
            Error::new("what came of holding threads up is gone: somebody removed it")
        })?;
        let mut report = analyse(&session.ledgers, Instances::Folded, &Silent);
        // Processes all of whose threads wait for ever are in no ledger.
        session.live.deadlocks.tell(&mut report);
        let words = tally.add(places, way, &counts, &report, &session.ledgers, longest);
        Ok(Outcome { words, is_interrupted: is_interrupted(session.status) })
    })?
}

/// Ctrl-C in a terminal ends the program, not lockwright, as long as that runs. A shell passes it on as a code.
fn is_interrupted(status: ExitStatus) -> bool {
    status.signal() == Some(libc::SIGINT) || status.code() == Some(128 + libc::SIGINT)
}

/// Runs the program once, without a report, and has what is left of it looked at.
///
/// # Errors
/// If it cannot be run or watched.
pub fn run_once<T>(
    job: &Job<'_>,
    plan: Option<&SteeringPlan>,
    limit: Option<Duration>,
    look: impl FnOnce(&Session<'_>) -> T,
) -> Result<T> {
    let around = Surroundings::current();
    let dir = session::run_dir(job.run.ledger_dir.as_deref(), &around)?;
    let nowhere = OutputArgs {
        output: Some(Path::new("/dev/null").into()),
        json: None,
        color: Colour::Never,
    };
    let mut output = Output::open(&nowhere, &PageArgs::default())?;
    let (live, time, on_deadlock) =
        (LiveArgs::default(), self::limit(limit), OnDeadlock::default());
    let engines = Engines {
        lockdep: true,
        objects: job.objects,
        lockmeter: None,
        bounces: false,
        timeline: None,
        allocations: job.run.track_allocations,
    };
    let wishes = Wishes { steering: plan, ..Wishes::new(&live, &time, &on_deadlock) };
    let plan = Plan { program: job.program, engines, args: job.run, wishes, hang_after: None };
    let mut session = Session::run(plan, dir, &around, &mut output)?;
    let looked = look(&session);
    session.live.finish(&output);
    session.end(true, &output);
    Ok(looked)
}

/// A run that ends after so long.
pub fn limit(limit: Option<Duration>) -> TimeArgs {
    TimeArgs { seconds: limit.map(|it| it.as_secs_f64()), ..TimeArgs::default() }
}
