//! A cycle of locks, and what shows that it can deadlock.

use crate::finding::Name;

/// What the grade rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Lock classes only: this run did not take the same locks in these orders.
    ByClass,
    /// Those that differ were made at one place, and each by another thread than the one that takes it here.
    Alike,
    /// The same locks were taken in all steps, each by another thread.
    SameLocks,
    /// The orders were taken by several threads.
    TakenByThreads,
    /// None of these orders the steps.
    Unordered(Vec<OrderedBy>),
    /// No lock is held in two of the steps.
    NoGate,
    /// Readers block each other through a writer that waits between them.
    ReadersMeet,
    /// There were more combinations of threads than could be looked at.
    SearchCut,
    /// These are semaphores that count as locks.
    Semaphores {
        /// Which of the locks.
        locks: Vec<usize>,
    },
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Take one lock before the other, or release the other first.
    TakeBefore {
        /// The one.
        first: Name,
        /// The other.
        second: Name,
        /// Where they are taken the other way.
        place: Option<String>,
    },
    /// One place takes them all: let it take them in an order of their own.
    OrderOfTheirOwn {
        /// That place.
        place: String,
    },
    /// Hold one further lock around all steps.
    FurtherLock,
    /// std::scoped_lock.
    ScopedLock,
}

/// What orders what two threads do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderedBy {
    /// The first creates the second.
    Creation,
    /// The second joins the first.
    Join,
    /// The first dies with a robust mutex, which the second takes (EOWNERDEAD).
    Death,
    /// The first reaches a barrier that the second passes.
    Barrier,
    /// The first posts the semaphore that the second waits for.
    Post,
    /// The first releases a lock that it held when it ordered the second, which then acquires it.
    Release,
    /// The first runs the routine of a `pthread_once` that the second calls afterwards.
    Once,
}
