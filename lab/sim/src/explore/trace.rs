//! The threads' operations, step by step.

use core::fmt;
use core::panic::Location;

/// What a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A word is read.
    Load,
    /// A word is written.
    Store,
    /// A word is exchanged, compared and exchanged, or added to.
    Exchange,
    /// The thread is about to sleep, if the word is as expected.
    Wait,
    /// It goes on after a sleep.
    Woken,
    /// It goes on as its deadline has come.
    TooLate,
    /// It goes on though nobody has woken it, as sleeps may end early.
    Early,
    /// It wakes waiters for a word.
    Wake,
    /// A round of a spinning loop is over.
    Spin,
    /// It asks for the lock, to write.
    Write,
    /// It asks for the lock, to read.
    Read,
    /// It asks for the lock, to read, and to write then.
    Upgrade,
    /// It has the lock.
    Acquired,
    /// It reads without the lock.
    Peek,
    /// It had the lock to read, and has it to write.
    Upgraded,
    /// It has the lock to write, and will have it to read.
    Downgrades,
    /// It releases the lock.
    Releases,
    /// It has released the lock.
    Released,
    /// It was refused the lock, tried or waited for up to a deadline.
    Refused,
}

impl What {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Exchange => "exchange",
            Self::Wait => "wait",
            Self::Woken => "woken",
            Self::TooLate => "too late",
            Self::Early => "early",
            Self::Wake => "wake",
            Self::Spin => "spin",
            Self::Write => "lock",
            Self::Read => "read lock",
            Self::Upgrade => "upgr.lock",
            Self::Acquired => "ACQUIRED",
            Self::Peek => "PEEKS",
            Self::Upgraded => "UPGRADED",
            Self::Downgrades => "DOWNGR.",
            Self::Releases => "RELEASES",
            Self::Released => "released",
            Self::Refused => "refused",
        }
    }
}

/// A line of a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The file's name.
    pub file: &'static str,
    /// From 1; 0: not known.
    pub line: u32,
}

impl From<&'static Location<'static>> for SourceLine {
    fn from(place: &'static Location<'static>) -> Self {
        Self { file: place.file(), line: place.line() }
    }
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A step of a thread.
#[derive(Clone, Debug)]
pub struct Step {
    /// The scheduling point before it.
    pub point: u64,
    /// Whose it is.
    pub thread: u32,
    /// What it is.
    pub what: What,
    /// The word's address; 0: no word.
    pub address: usize,
    pub(super) size: usize,
    /// What the word lies in, and where.
    pub word: Option<String>,
    /// The word's values before and after, where they are known.
    pub values: Option<(u64, u64)>,
    /// Where in the source.
    pub source: Option<SourceLine>,
}
