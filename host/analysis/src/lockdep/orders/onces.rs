//! Controls of `pthread_once` in cycles: nobody takes them by name, so what helps is to call without
//! a lock, or to do less in the routine.

use lockwright_ledger::rows::lock_kind;

use crate::finding::order::{Evidence, OrderFault, Remedy, cycle, once};
use crate::model::{LockRef, Model};

/// The place of the first control among the locks of a cycle.
pub fn place(model: &Model<'_>, locks: &[LockRef]) -> Option<usize> {
    locks.iter().position(|lock| model.classes.kind(lock.class) == lock_kind::ONCE)
}

/// Says in a finding about a cycle of so many `parts` that the lock at `once` is a control, and what
/// helps.
pub fn tell(once: usize, parts: usize, what: &mut OrderFault) {
    what.evidence.push(Evidence::HeldWhileInitialising { once });
    let is_order = |remedy: &Remedy| {
        matches!(
            remedy,
            Remedy::Cycle(cycle::Remedy::TakeBefore { .. } | cycle::Remedy::OrderOfTheirOwn { .. })
        )
    };
    match what.remedies.first() {
        Some(remedy) if is_order(remedy) => {
            what.remedies = vec![Remedy::Once(once::Remedy::InitialiseWithoutLock { once })];
        }
        Some(&Remedy::JoinWithoutLock { end }) if (once + 1) % parts == end => {
            what.remedies = vec![Remedy::Once(once::Remedy::JoinAfterRoutine { once })];
        }
        _ => {}
    }
}
