//! A run of a workload: what is run, its threads, and what it came to.

use std::cell::Cell;
use std::rc::Rc;

use crate::locks::Kind;
use crate::rng::Rng;
use crate::setup::{Config, Outcome, Setup, simulate};
use crate::time::{Time, seconds};

/// What is run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Where.
    pub config: Config,
    /// With how many threads, or virtual CPUs.
    pub threads: u32,
    /// For how long, in picoseconds of virtual time.
    pub length: Time,
    /// Locks of users' libraries, in addition to [`crate::locks::KINDS`].
    pub libraries: Vec<Kind>,
}

/// There is no lock of this name.
#[derive(Debug)]
pub struct UnknownLock(pub String);

pub fn kind<'r>(run: &'r Run, name: &str) -> Result<&'r Kind, UnknownLock> {
    let own = run.libraries.iter().find(|kind| kind.name == name);
    own.or_else(|| Kind::named(name)).ok_or_else(|| UnknownLock(name.to_owned()))
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Operations of each thread.
    pub operations: Vec<u64>,
    /// In seconds of virtual time.
    pub seconds: f64,
    /// How often two threads were in a section at once.
    pub intrusions: u64,
    /// Further figures of the workload.
    pub more: Vec<(&'static str, f64)>,
    /// The outcome of the simulation.
    pub outcome: Outcome,
}

impl Figures {
    /// Operations a second.
    pub fn rate(&self) -> f64 {
        self.operations.iter().sum::<u64>() as f64 / self.seconds
    }

    /// Least and most operations of a thread.
    pub fn least_and_most(&self) -> (u64, u64) {
        let operations = self.operations.iter().copied();
        (operations.clone().min().unwrap_or(0), operations.max().unwrap_or(0))
    }
}

/// What a thread of a workload has.
pub struct Worker<'s> {
    pub operations: Rc<Cell<u64>>,
    pub rng: Rng,
    pub check: &'s Check,
}

impl Worker<'_> {
    pub fn count(&self) {
        self.operations.set(self.operations.get() + 1);
    }
}

/// Whether a lock excludes, seen by the host: nothing of it is simulated.
pub struct Check {
    is_inside: Cell<bool>,
    intrusions: Cell<u64>,
}

// SAFETY: only simulated threads use it, which are fibers of one thread.
unsafe impl Send for Check {}
// SAFETY: only simulated threads use it, which are fibers of one thread.
unsafe impl Sync for Check {}

impl Check {
    pub fn section(&self, section: impl FnOnce()) {
        self.intrusions.set(self.intrusions.get() + u64::from(self.is_inside.replace(true)));
        section();
        self.is_inside.set(false);
    }
}

/// Prepares what all workloads have, and runs threads that are made by `worker`.
pub fn run_workers<F>(run: &Run, prepare: F) -> Figures
where
    F: for<'s> FnOnce(&'s Setup<'s>) -> Box<dyn Fn(Worker<'s>) + 's>,
{
    let operations: Vec<_> = (0..run.threads).map(|_| Rc::new(Cell::new(0))).collect();
    let mut seeds = Rng::new(run.config.seed ^ 0x6c6f_636b);
    let (intrusions, outcome) = simulate(run.config.clone(), |setup| {
        let check = Check { is_inside: Cell::new(false), intrusions: Cell::new(0) };
        let check = setup.place("the check", check);
        let work = Rc::new(prepare(setup));
        for operations in &operations {
            let (operations, rng) = (Rc::clone(operations), Rng::new(seeds.next()));
            let work = Rc::clone(&work);
            setup.spawn(move || work(Worker { operations, rng, check }));
        }
        let outcome = setup.run(run.length);
        (check.intrusions.get(), outcome)
    });
    Figures {
        operations: operations.iter().map(|operations| operations.get()).collect(),
        seconds: seconds(run.length),
        intrusions,
        more: Vec::new(),
        outcome,
    }
}
