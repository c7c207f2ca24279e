//! The plan by which threads of the program are held up: a file among the ledgers.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::process::Command;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use lockwright_console::error::{Error, Result};
use lockwright_ledger::steering::{FILE_NAME, MOST_FRAMES, MOST_PATHS, Steering};

use crate::ledger_dir::RunDir;
use crate::run::output::Output;
use lockwright_report::prose::words::count;

/// Where a thread is to be held up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Return addresses within their modules, innermost first.
    pub offsets: Vec<u64>,
    /// Only a thread that holds a lock is meant.
    pub needs_held: bool,
}

/// What a run is asked for.
#[derive(Clone, Debug, Default)]
pub struct SteeringPlan {
    /// Where threads are to be held up for each other; more than [`MOST_PATHS`] are left out.
    pub places: Vec<Place>,
    /// For how long at a time.
    pub longest: Duration,
    /// For how long in all.
    pub total: Duration,
    /// What random delays are drawn from; 0: none.
    pub seed: u64,
}

/// Random delays of a run may take so long together.
const ALL_DELAYS: Duration = Duration::from_secs(60);

impl SteeringPlan {
    /// Random delays, drawn from this seed or a new one.
    pub fn delays(seed: Option<u64>) -> Self {
        let chosen = || RandomState::new().build_hasher().finish() % 1_000_000;
        // 0 stands for none.
        let seed = seed.unwrap_or_else(chosen).max(1);
        Self { total: ALL_DELAYS, seed, ..Self::default() }
    }

    /// Says which delays there were, if any were wanted.
    pub fn note(&self, dir: &RunDir, output: &Output) {
        let Self { seed, .. } = *self;
        let Some(counts) = outcome(dir).filter(|_| seed != 0) else { return };
        let delays = count(counts.delays.load(Relaxed), "delay");
        let note = Error::new(format!("threads were delayed at random: {delays}, seed {seed}"));
        output.note(&note.help(format!("--perturb {seed} draws the same delays again")));
    }

    /// Puts the plan where the processes of a run find it.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn give(&self, dir: &RunDir) -> Result<()> {
        let plan = Steering::new();
        plan.longest_ns.store(nanoseconds(self.longest), Relaxed);
        plan.left_ns.store(nanoseconds(self.total), Relaxed);
        plan.seed.store(self.seed, Relaxed);
        let count = self.places.len().min(MOST_PATHS);
        plan.path_count.store(count as u32, Relaxed);
        for (path, place) in plan.paths.iter().zip(&self.places) {
            let frames = place.offsets.len().min(MOST_FRAMES);
            path.offset_count.store(frames as u32, Relaxed);
            path.needs_held.store(place.needs_held.into(), Relaxed);
            for (word, &offset) in path.offsets.iter().zip(&place.offsets) {
                word.store(offset, Relaxed);
            }
        }
        dir.give(FILE_NAME, &plan.to_bytes()).map_err(|error| {
            Error::new(format!("cannot write in {}: {error}", dir.path().display()))
                .help("name another directory: --ledger-dir DIR")
        })
    }
}

/// Tells the library in `command` whether there is a plan, whatever an outer lockwright told this process.
pub fn tell(plan: Option<&SteeringPlan>, command: &mut Command) {
    match plan {
        Some(_) => command.env("LOCKWRIGHT_STEERING", "1"),
        None => command.env_remove("LOCKWRIGHT_STEERING"),
    };
}

/// What came of the plan in a run's directory.
pub fn outcome(dir: &RunDir) -> Option<Box<Steering>> {
    Steering::from_bytes(&dir.given(FILE_NAME).ok()?)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
