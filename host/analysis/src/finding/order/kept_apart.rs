//! What keeps the steps of a cycle apart.

use super::cycle::OrderedBy;
use crate::finding::{Name, ThreadInfo};

/// What the grade rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Two steps hold one lock.
    Gate {
        /// Those two.
        steps: [usize; 2],
        /// The lock.
        gate: Name,
    },
    /// All steps hold a semaphore that has not so many seats.
    Seats {
        /// The semaphore.
        semaphore: Name,
        /// How many threads can hold it.
        seats: u32,
    },
    /// One of two steps needs a lock that a third thread holds from before to after the other.
    Enclosed {
        /// Those two.
        steps: [usize; 2],
        /// The lock.
        gate: Name,
        /// The holder.
        holder: ThreadInfo,
    },
    /// One of two steps needs a lock that another thread took before, and the other step is over
    /// before that thread releases it.
    OverBefore {
        /// Those two.
        steps: [usize; 2],
        /// The lock.
        lock: Name,
        /// That thread.
        holder: ThreadInfo,
    },
    /// To be where it is, each of two steps must have taken its lock before the other took its own.
    EachBefore {
        /// Those two.
        steps: [usize; 2],
        /// What they hold.
        locks: [Name; 2],
    },
    /// What a step holds was new, so that nobody else knew it.
    New {
        /// That step.
        step: usize,
        /// What it holds.
        lock: Name,
    },
    /// One step happens before another.
    Ordered {
        /// The early and the late one.
        steps: [usize; 2],
        /// By what.
        by: Option<Crossing>,
    },
    /// The thread of one step lives only within a call that the thread of another step is not in there.
    Scoped {
        /// The one.
        inside: usize,
        /// The other.
        outside: usize,
    },
    /// The thread of one step lives only within a call after which the thread of another step is created.
    ScopeOver {
        /// The one.
        early: usize,
        /// The other.
        late: usize,
    },
    /// One thread took several steps.
    OneThread {
        /// One of these.
        step: usize,
        /// How many.
        steps: usize,
    },
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Nothing, while every step holds this.
    KeepGate(Name),
    /// Nothing, while every step holds this semaphore, and no more than so many threads can.
    KeepSeats {
        /// The semaphore.
        semaphore: Name,
        /// How many.
        seats: u32,
    },
    /// Nothing, while this is held around the other step.
    KeepEnclosing(Name),
    /// Nothing, while nobody learns of this lock before it is first released.
    KeepNew(Name),
    /// Nothing, while the threads stay ordered.
    KeepOrdered,
    /// Nothing, while one thread does it.
    KeepSingleThread,
}

/// The step from thread to thread that orders two others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// What it is.
    pub by: OrderedBy,
    /// The thread that comes first.
    pub from: ThreadInfo,
    /// The thread that comes after it.
    pub to: ThreadInfo,
}
