//! Faults in the order of locks, as a finding has them: cycles, locks taken
//! again by their holder, nesting within a class, and handlers that interrupt a holder.
//!
//! `step` and `steps` are indices into [`super::Finding::steps`], `lock` and its like into
//! [`super::Finding::locks`]. In a cycle step `i` holds lock `i` and takes lock `i + 1`, the last
//! one the first. A lock or thread that the finding does not list is named.

pub mod again;
pub mod asleep;
pub mod barrier;
pub mod cycle;
pub mod deadlock;
pub mod declared;
pub mod doubt;
pub mod handler;
pub mod join;
pub mod kept_apart;
pub mod loader;
pub mod nesting;
pub mod once;
pub mod several;

use self::again::Again;
pub use self::cycle::OrderedBy;
pub use self::kept_apart::Crossing;
use self::several::Apart;
use super::Name;

/// What is wrong with an order, why it is graded so, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderFault {
    /// What was found.
    pub fault: Fault,
    /// What the grade rests on, in the order of the report.
    pub evidence: Vec<Evidence>,
    /// What to do about it, the best first.
    pub remedies: Vec<Remedy>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The locks are taken in a cycle.
    Cycle,
    /// So they are, but by several runs or processes together.
    CycleAcross(Apart),
    /// The threads of the steps wait for each other.
    Deadlock,
    /// Every thread of the process waits for another.
    AllAsleep {
        /// How many there are: threads that do the same at the same place are one step.
        threads: usize,
    },
    /// A lock that its holder takes again.
    Again(again::Fault),
    /// Locks that the handlers of signals take.
    Handler(handler::Fault),
    /// A lock that is held while a thread is joined which takes it.
    Join(join::Fault),
    /// A lock that is kept at a barrier.
    Barrier(barrier::Fault),
    /// Completions, contexts and orders that the program declares.
    Declared(declared::Fault),
    /// Locks of one class, or of classes that one place takes, are nested in no fixed order.
    NoFixedOrder {
        /// The classes.
        classes: Vec<Name>,
    },
}

/// What a grade rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// A cycle of locks, and what shows that it can deadlock.
    Cycle(cycle::Evidence),
    /// What leaves open whether a cycle can deadlock.
    Doubt(doubt::Evidence),
    /// What keeps the steps of a cycle apart.
    KeptApart(kept_apart::Evidence),
    /// A cycle that several runs or processes make together.
    Several(several::Evidence),
    /// A deadlock that threads are in.
    Deadlock(deadlock::Evidence),
    /// A process in which every thread waits.
    Asleep(asleep::Evidence),
    /// What comes of the second acquisition.
    Again(Again),
    /// Locks that the handlers of signals take.
    Handler(handler::Evidence),
    /// A lock that is held while a thread is joined which takes it.
    Join(join::Evidence),
    /// A lock that is kept at a barrier.
    Barrier(barrier::Evidence),
    /// A caller of `pthread_once` waits as long as another thread runs the routine.
    HeldWhileInitialising {
        /// The control among the locks.
        once: usize,
    },
    /// The locks of the C library's loader.
    Loader(loader::Evidence),
    /// Completions, contexts and orders that the program declares.
    Declared(declared::Evidence),
    /// Locks of one class that are nested.
    Nesting(nesting::Evidence),
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// A cycle of locks, and what shows that it can deadlock.
    Cycle(cycle::Remedy),
    /// What keeps the steps of a cycle apart.
    KeptApart(kept_apart::Remedy),
    /// See to it that no process does all of it.
    KeepApart,
    /// One order in every thread, or a release before each wait.
    OneOrder,
    /// Find the wait that should have ended, and the thread that should have ended it.
    FindTheWaker,
    /// Split the function that takes a lock again, or make the lock recursive.
    SplitFunction,
    /// Locks that the handlers of signals take.
    Handler(handler::Remedy),
    /// Release the lock before joining the thread, or have the thread do without it.
    JoinWithoutLock {
        /// The end of the thread among the locks; the lock is the one before it.
        end: usize,
    },
    /// Unlock in the function that took the lock, which has returned before the join.
    UnlockInTaker {
        /// The end of the thread among the locks; the lock is the one before it.
        end: usize,
        /// The function.
        function: String,
    },
    /// Come to the barrier without the lock, or take it after the barrier.
    MeetWithoutLock {
        /// The barrier among the locks; what is kept is the one before it, and what is taken the one
        /// behind.
        barrier: usize,
        /// The step that takes the lock.
        step: usize,
    },
    /// Locks around the routines of `pthread_once`.
    Once(once::Remedy),
    /// The locks of the C library's loader.
    Loader(loader::Remedy),
    /// Completions, contexts and orders that the program declares.
    Declared(declared::Remedy),
    /// Whichever order, but always the same.
    FixedOrder,
}
