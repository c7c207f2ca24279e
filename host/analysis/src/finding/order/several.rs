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
    /// The locks lie in memory that the processes share.
    SharedMemory,
    /// The processes lived at one time, and nothing that is known orders their steps.
    AtOneTime,
    /// Two steps may have been one after the other.
    MayBeApart([usize; 2]),
    /// Two steps each hold a lock of which it is not known whether it is one.
    MayHaveGate([usize; 2]),
    /// A step gives up after a while.
    GivesUp {
        /// That step.
        step: usize,
    },
    /// More locks were held in a step than recorded.
    MoreHeld {
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
