//! A cycle that several runs or processes make together.

use crate::finding::Name;

/// What the grade rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// No process alone took all orders.
    NoProcessAlone,
    /// A step, as the process of its origin has it.
    TakenInProcess {
        /// The step.
        step: usize,
        /// What the lock that it took is called there.
        acquired: Name,
    },
    /// Each lock is one variable.
    Variables,
    /// Locks and threads of different processes cannot be compared.
    NotComparable,
    /// The processes of two steps hold a lock, of which each process has but one.
    GateOfAProcess {
        /// Those two.
        steps: [usize; 2],
        /// The lock.
        gate: Name,
    },
    /// What a step holds was new in its process.
    NewInProcess {
        /// That step.
        step: usize,
    },
    /// What the user calls the runs.
    Runs(Vec<(usize, String)>),
    /// There were more combinations of places than could be looked at.
    PlacesCut,
    /// The runs are of different builds, and variables are matched by their names.
    DifferentBuilds,
}

/// What the steps of a cycle are in, each in one of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart {
    /// Runs.
    Runs,
    /// Processes of one run.
    Processes,
}
