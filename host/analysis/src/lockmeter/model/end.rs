//! When a process ended that did not come to say so itself, as who waited for it saw.

use lockwright_ledger::Ledger;

pub use crate::process_end::End;

/// The end among `ends` that is that of `ledgers[index]`. A process that called exec has a ledger
/// for each program that it was: only the last of them ended so. Another run's process may have had
/// the same id, before or after.
pub fn of(ledgers: &[Ledger], index: usize, ends: &[End]) -> Option<u64> {
    let header = ledgers[index].header();
    let of_pid = ends.iter().filter(|end| end.pid == header.pid).map(|end| end.at_ns);
    let end = of_pid.filter(|&at_ns| at_ns >= header.start_ns).min()?;
    let is_later = |other: &Ledger| {
        let start_ns = other.header().start_ns;
        other.header().pid == header.pid && start_ns > header.start_ns && start_ns <= end
    };
    (!ledgers.iter().any(is_later)).then_some(end)
}
