//! A thread in a report.

use std::fmt;

use serde::Serialize;

/// A thread as a report names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadInfo {
    /// Its name, empty if it has none.
    pub name: String,
    /// Kernel thread id.
    pub tid: u32,
    /// 1 for the first thread seen in the process, counting up.
    pub number: u32,
}

impl fmt::Display for ThreadInfo {
    /// `thread 2 (teller)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.number, self.name.as_str()) {
            (0, _) => f.write_str("a thread that was not recorded"),
            (number, "") => write!(f, "thread {number}"),
            (number, name) => write!(f, "thread {number} ({name})"),
        }
    }
}
