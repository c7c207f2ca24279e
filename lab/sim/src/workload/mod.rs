//! The workloads: what threads do with locks.

mod bkl;
mod build;
mod checked;
mod micro;
mod pages;
mod parking_lot;
mod pools;
mod radiosity;
mod run;
mod torture;
mod watched;

pub use run::{Figures, Run, UnknownLock};
use run::{Worker, kind, run_workers};

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

// SAFETY: only simulated threads use it, which are fibers of one thread.
