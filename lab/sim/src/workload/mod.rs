//! The workloads: what threads do with locks.

mod bkl;
mod build;
mod checked;
mod micro;
mod pages;
mod parking_lot;
mod pools;
mod radiosity;
mod torture;
mod watched;

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

/// A workload.
#[derive(Debug)]
pub struct Workload {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// The names of what it runs over, where those are not [`crate::locks::KINDS`].
    pub shapes: Option<&'static [&'static str]>,
    run: fn(&Run, &str) -> Result<Figures, UnknownLock>,
}

impl Workload {
    /// The workload of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        WORKLOADS.iter().find(|workload| workload.name == name)
    }

    /// Runs it over a lock.
    ///
    /// # Errors
    /// If it has no lock of that name.
    pub fn run(&self, run: &Run, lock: &str) -> Result<Figures, UnknownLock> {
        (self.run)(run, lock)
    }

    /// The names of the locks that it runs over.
    pub fn locks(&self) -> Vec<&'static str> {
        match self.shapes {
            Some(shapes) => shapes.to_vec(),
            None => crate::locks::KINDS.iter().map(|kind| kind.name).collect(),
        }
    }
}

/// There is no lock of this name.
#[derive(Debug)]
pub struct UnknownLock(pub String);

/// All of them.
pub const WORKLOADS: &[Workload] = &[
    Workload {
        name: "micro",
        about: "the microbenchmark of Long's hybrid pvqspinlock (2017): lock, count, unlock, as fast as can be",
        shapes: None,
        run: |run, lock| Ok(micro::run(run, kind(run, lock)?)),
    },
    Workload {
        name: "locktorture",
        about: "the kernel's locktorture: now and then a section of microseconds or more",
        shapes: None,
        run: |run, lock| Ok(torture::run(run, kind(run, lock)?)),
    },
    Workload {
        name: "build",
        about: "a build-like mix: computing, with short sections of a few locks",
        shapes: None,
        run: |run, lock| Ok(build::run(run, kind(run, lock)?)),
    },
    Workload {
        name: "parking_lot",
        about: "parking_lot's benchmark of mutexes: five steps with the lock, five without",
        shapes: None,
        run: |run, lock| Ok(parking_lot::run(run, kind(run, lock)?)),
    },
    Workload {
        name: "radiosity",
        about: "SPLASH's radiosity: tasks that take objects from one list",
        shapes: None,
        run: |run, lock| Ok(radiosity::run(run, kind(run, lock)?)),
    },
    Workload {
        name: "pages",
        about: "the page toucher of Song's rwsem patch (2021): page faults under one rwsem, read by a trylock",
        shapes: Some(pages::NAMES),
        run: pages::run,
    },
    Workload {
        name: "bkl",
        about: "dbench below the big kernel lock, before and after Hansen's BKL patches (2002)",
        shapes: Some(bkl::NAMES),
        run: bkl::run,
    },
    Workload {
        name: "pools",
        about: "a build below debugobjects, before and after Long's patches (2019)",
        shapes: Some(pools::NAMES),
        run: pools::run,
    },
    Workload {
        name: "checked",
        about: "a build below lockdep, before and after Long's patches (2018)",
        shapes: Some(checked::NAMES),
        run: checked::run,
    },
    Workload {
        name: "watched",
        about: "a program below lockwright's own engines, with no new locks, few, or new ones only",
        shapes: Some(watched::NAMES),
        run: watched::run,
    },
];

fn kind<'r>(run: &'r Run, name: &str) -> Result<&'r Kind, UnknownLock> {
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
struct Worker<'s> {
    operations: Rc<Cell<u64>>,
    rng: Rng,
    check: &'s Check,
}

impl Worker<'_> {
    fn count(&self) {
        self.operations.set(self.operations.get() + 1);
    }
}

/// Whether a lock excludes, seen by the host: nothing of it is simulated.
struct Check {
    is_inside: Cell<bool>,
    intrusions: Cell<u64>,
}

// SAFETY: only simulated threads use it, which are fibers of one thread.
unsafe impl Send for Check {}
// SAFETY: only simulated threads use it, which are fibers of one thread.
unsafe impl Sync for Check {}

impl Check {
    fn section(&self, section: impl FnOnce()) {
        self.intrusions.set(self.intrusions.get() + u64::from(self.is_inside.replace(true)));
        section();
        self.is_inside.set(false);
    }
}

/// Prepares what all workloads have, and runs threads that are made by `worker`.
fn run_workers<F>(run: &Run, prepare: F) -> Figures
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
