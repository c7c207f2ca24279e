//! When a process ended that did not come to say so itself, as who waited for it saw.

use lockwright_ledger::Ledger;
use serde::{Deserialize, Serialize};

/// The end of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// The process.
    pub pid: u32,
    /// CLOCK_MONOTONIC.
    pub at_ns: u64,
}

/// The end among `ends` that is that of `ledgers[index]`. A process that called exec has a ledger for each program
/// that it was: only the last of them ended so.
pub fn of(ledgers: &[Ledger], index: usize, ends: &[End]) -> Option<u64> {
    let header = ledgers[index].header();
    let is_later = |other: &Ledger| {
        other.header().pid == header.pid && other.header().start_ns > header.start_ns
    };
    let is_its = |end: &&End| end.pid == header.pid && end.at_ns >= header.start_ns;
    let end = ends.iter().find(is_its).filter(|_| !ledgers.iter().any(is_later))?;
    Some(end.at_ns)
}
