//! What the user wants to see of the moments.

use std::time::Duration;

use super::recording::Writer;
use lockwright_console::error::Result;
use lockwright_report::live::Moment;

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

impl Shown {
    /// Has the rates of a moment since the one before, if it comes without any, and records it.
    ///
    /// # Errors
    /// If it cannot be recorded.
    pub fn complete(&mut self, moment: &mut Moment, before: Option<&Moment>) -> Result<()> {
        if let Some(before) = before.filter(|_| moment.interval_ns == 0) {
            moment.compare(before);
        }
        self.record.as_mut().map_or(Ok(()), |record| record.add(moment))
    }
}
