//! Locks that the handlers of signals take.

use super::again::Again;
use crate::finding::ThreadInfo;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The handler of a signal takes a lock that is held with that signal open.
    TakenInHandler {
        /// The signal.
        signal: u32,
    },
    /// A cycle of two, of which one order comes about by a handler.
    PairWithHandler {
        /// The step in the handler.
        step: usize,
        /// Its signal.
        signal: u32,
    },
    /// A cycle that handlers of these signals close.
    CycleWithHandlers {
        /// The signals, in the order of the steps.
        signals: Vec<u32>,
    },
}

/// What the grade rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// A step holds its lock with a signal open whose handler takes the next.
    OpenAndTaken {
        /// The step.
        step: usize,
        /// The signal.
        signal: u32,
    },
    /// The first step takes the lock with a signal open.
    TakenOpen {
        /// The signal.
        signal: u32,
    },
    /// A signal's handler took the lock.
    TakenInHandler {
        /// The signal.
        signal: u32,
        /// In this thread.
        thread: ThreadInfo,
    },
    /// What comes of the handler's taking it.
    InHandler(InHandler),
    /// A handler runs in any thread that does not block its signal.
    AnyThreadRunsHandlers,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Block a signal while a lock is held.
    BlockSignal {
        /// The signal.
        signal: u32,
        /// The lock.
        lock: usize,
    },
    /// Do less in the handler.
    LessInHandler,
}

/// What comes of a handler's taking what its own thread may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InHandler {
    /// As of taking it again.
    Again(Again),
    /// It gets it, as the mutex is recursive, and finds half done what that protects.
    Recursive,
    /// It took another lock of the class in this run.
    OtherLock,
    /// It took the lock in one thread alone, and in another it may take that thread's.
    OneThreadAlone,
    /// It comes there only with another lock that it tries for, and that the holder has.
    TriedGate,
}
