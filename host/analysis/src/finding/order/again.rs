//! A lock that its holder takes again.

use crate::finding::ThreadInfo;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A lock is taken again by the thread that holds it.
    TakenAgain,
    /// So it is, in the handler of a signal that interrupted its holder.
    TakenAgainInHandler {
        /// The signal.
        signal: u32,
    },
}

/// What comes of taking a lock again that the thread holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Again {
    /// It is waited for, for ever.
    Blocks,
    /// The mutex checks for it: EDEADLK.
    ErrorCheck,
    /// It is held for writing: EDEADLK.
    HeldForWriting,
    /// The wait has a timeout.
    Timeout,
    /// Both read; a writer between the two blocks both.
    WriterBetween {
        /// A thread that writes it and may come there.
        writer: Option<ThreadInfo>,
    },
    /// The same, but the writer was done before, or began afterwards, only because a signal woke a thread.
    WriterKeptApart {
        /// The writer.
        writer: ThreadInfo,
    },
}
