//! The report on a process that was looked at, and not started, by the tool: `check --pid`.

pub mod json;
pub mod text;
pub(crate) mod words;

use lockwright_analysis::attached::{Thread, Verdict};

/// The data of a report.
#[derive(Clone, Debug)]
pub struct Attached {
    /// The process.
    pub pid: u32,
    /// Its executable.
    pub exe: String,
    /// Its threads, in the order of their ids.
    pub threads: Vec<Thread>,
    /// Threads of other processes to which its waits lead, each with its process.
    pub elsewhere: Vec<(u32, Thread)>,
    /// Waits in memory that other processes have, too, and which these are, as far as we may see them.
    pub shared: Vec<SharedWait>,
    /// The verdicts on its waits.
    pub verdicts: Vec<Verdict>,
    /// How long the waits were seen to last, ms.
    pub watched_ms: u64,
}

/// A wait that another process may end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedWait {
    /// The thread that waits.
    pub tid: u32,
    /// The processes that have the memory, too, in the order of their ids.
    pub others: Vec<Sharer>,
}

/// Another process that has the memory of a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sharer {
    /// Its id.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// A thread of it waits in memory that is shared, too; perhaps for this process.
    pub waits: bool,
}
