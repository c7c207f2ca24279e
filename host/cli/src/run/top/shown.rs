//! What the user wants to see of the moments.

use std::time::Duration;

use super::recording::Writer;

/// What is shown, and where it is recorded.
pub struct Shown {
    /// What it is about.
    pub title: String,
    /// From one moment to the next.
    pub interval: Duration,
    /// How many moments; `None`: until the program or the user ends it.
    pub count: Option<u64>,
    /// Locks of a snapshot; 0: all.
    pub top: usize,
    /// Where they are kept.
    pub record: Option<Writer>,
}
