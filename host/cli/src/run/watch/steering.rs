//! The plan by which threads of the program are held up: a file among the ledgers.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::process::Command;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use lockwright_console::error::{Error, Result};
use lockwright_ledger::steering::{FILE_NAME, MOST_FRAMES, MOST_PATHS, Path, Steering};

use crate::ledger_dir::RunDir;
use crate::run::output::Output;
use lockwright_report::prose::words::{count, duration};

/// Where a thread is to be held up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Return addresses within their modules, innermost first.
    pub offsets: Vec<u64>,
    /// Only a thread that holds a lock is meant.
    pub needs_held: bool,
    /// Threads are held up here before the first lock of their part, until another is at the last one of its.
    pub is_first: bool,
    /// Not 0: this signal is to come while a thread has the lock that it takes there.
    pub signal: u32,
}

/// Where threads of a finding are to be kept apart: the calls that take the first lock of each part of its cycle.
#[derive(Clone, Debug)]
pub struct Apart {
    /// What the finding is called in the note at the end.
    pub title: String,
    /// Each place once, and whether threads exclude each other that come to this same one.
    pub places: Vec<(Place, bool)>,
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
    /// Findings that are avoided.
    pub apart: Vec<Apart>,
}

/// Random delays of a run may take so long together.
const ALL_DELAYS: Duration = Duration::from_secs(60);

impl SteeringPlan {
    /// Random delays, drawn from a seed or from a new one, and findings that are avoided, by pauses of up to `longest`;
    /// `None`: nothing of that is wanted.
    pub fn of(perturb: Option<Option<u64>>, apart: Vec<Apart>, longest: Duration) -> Option<Self> {
        let chosen = || RandomState::new().build_hasher().finish() % 1_000_000;
        // 0 stands for none.
        let seed = perturb.map(|seed| seed.unwrap_or_else(chosen).max(1));
        (seed.is_some() || !apart.is_empty()).then(|| Self {
            longest,
            total: ALL_DELAYS,
            seed: seed.unwrap_or(0),
            apart,
            ..Self::default()
        })
    }

    /// Says which delays there were, and how often threads were kept apart, if that was wanted.
    pub fn note(&self, dir: &RunDir, output: &Output) {
        let Self { seed, .. } = *self;
        let Some(counts) = outcome(dir) else { return };
        if seed != 0 {
            let delays = count(counts.delays.load(Relaxed), "delay");
            let note = Error::new(format!("threads were delayed at random: {delays}, seed {seed}"));
            output.note(&note.help(format!("--perturb {seed} draws the same delays again")));
        }
        let mut paths = counts.paths.iter();
        for Apart { title, places } in &self.apart {
            let paths: Vec<&Path> = paths.by_ref().take(places.len()).collect();
            output.note(&kept_apart(title, &paths));
        }
    }

    fn all_places(&self) -> impl Iterator<Item = &Place> {
        self.apart
            .iter()
            .flat_map(|it| it.places.iter().map(|(place, _)| place))
            .chain(&self.places)
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
        let count = self.all_places().count().min(MOST_PATHS);
        plan.path_count.store(count as u32, Relaxed);
        let apart = (1..).zip(&self.apart);
        let apart = apart.flat_map(|(number, it)| it.places.iter().map(move |it| (number, it)));
        for (path, (number, (_, alone))) in plan.paths.iter().zip(apart) {
            path.apart.store(number, Relaxed);
            path.alone.store((*alone).into(), Relaxed);
        }
        for (path, place) in plan.paths.iter().zip(self.all_places()) {
            let frames = place.offsets.len().min(MOST_FRAMES);
            path.offset_count.store(frames as u32, Relaxed);
            path.needs_held.store(place.needs_held.into(), Relaxed);
            path.signal.store(place.signal, Relaxed);
            path.first.store(place.is_first.into(), Relaxed);
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

/// What came of keeping the threads of a finding apart.
fn kept_apart(title: &str, paths: &[&Path]) -> Error {
    let sum = |of: fn(&Path) -> u64| paths.iter().map(|path| of(path)).sum::<u64>();
    let waits = sum(|path| path.pauses.load(Relaxed).into());
    let waited = duration(sum(|path| path.waited_ns.load(Relaxed)) as f64);
    let note = Error::new(format!(
        "kept apart: {title}: {} at its places, {waits} waited, {waited} in all",
        count(sum(|path| path.arrivals.load(Relaxed).into()), "thread")
    ));
    let late = sum(|path| path.timed_out.load(Relaxed).into());
    let needed = sum(|path| path.in_the_way.load(Relaxed).into());
    match (late, needed) {
        (0, 0) => note,
        _ => note.note(format!(
            "{late} went on since their time was up, {needed} since another thread waited for a lock that they held: then it may happen"
        )),
    }
}
