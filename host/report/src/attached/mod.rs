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
    /// The verdicts on its waits.
    pub verdicts: Vec<Verdict>,
    /// How long the waits were seen to last, ms.
    pub watched_ms: u64,
}
