//! The use of a futex, which only the names of the waiting functions show.

use serde::Serialize;

use super::{Frame, ThreadInfo};

/// What a wait at a futex is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FutexUse {
    /// A lock that another has.
    Lock,
    /// A condition to be signalled.
    Condition,
    /// A thread sleeps until another has work for it.
    Park,
    /// A semaphore.
    Semaphore,
    /// Others to come to a barrier, or a latch to open.
    Barrier,
    /// Another thread to finish an initialisation.
    Once,
    /// The functions' names do not say.
    Unknown,
}

/// What is known of a use: what for, and whose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct FutexKind {
    /// What for.
    pub used_as: FutexUse,
    /// Whose it is, as its users call it; `None` if that is not known.
    pub of: Option<&'static str>,
}

impl FutexKind {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self { used_as: FutexUse::Unknown, of: None };

    /// What a report calls the object.
    pub fn noun(self) -> &'static str {
        match (self.of, self.used_as) {
            (Some("std::future"), _) => "future",
            (Some("std::latch"), _) => "latch",
            (Some("std::atomic::wait"), _) => "atomic variable",
            (_, FutexUse::Condition) => "condition variable",
            (_, FutexUse::Semaphore) => "semaphore",
            (_, FutexUse::Barrier) => "barrier",
            _ => "futex",
        }
    }
}

/// A futex that a thread waits at, and who else is known of there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FutexWait {
    /// What the wait is for, and whose.
    #[serde(flatten)]
    pub kind: FutexKind,
    /// Address of the word.
    pub addr: u64,
    /// What it was when the wait began.
    pub word: u32,
    /// The variable that it is in.
    pub name: Option<String>,
    /// From the process' start to the wait's begin, ns.
    pub begun_ns: u64,
    /// The live thread whose id the word had. Kernel locks and some others put their holder's there;
    /// a word that counts something may have the same value by chance.
    pub names: Option<ThreadInfo>,
    /// Who woke a thread at this futex last.
    pub woken: Option<Woken>,
}

/// A wake at a futex.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Woken {
    /// Who.
    pub by: ThreadInfo,
    /// From the process' start, ns.
    pub at_ns: u64,
    /// Where, innermost frame first.
    pub stack: Vec<Frame>,
}

/// Thread ids below this are given out once only, when a system begins: words with such values
/// count something.
pub const LEAST_ID: u32 = 300;

/// The bits of a word that has a thread's id, as the kernel's locks have it.
pub const ID_BITS: u32 = 0x3fff_ffff;
