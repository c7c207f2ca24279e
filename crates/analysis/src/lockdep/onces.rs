//! Controls of `pthread_once` in cycles: nobody takes them by name, so what helps is to call without
//! a lock, or to do less in the routine.

use lockwright_ledger::rows::lock_kind;

use crate::finding::order::{Evidence, OrderFault, Remedy};
use crate::model::{LockRef, Model};

/// The place of the first control among the locks of a cycle.
pub fn place(model: &Model<'_>, locks: &[LockRef]) -> Option<usize> {
    locks.iter().position(|lock| model.classes.kind(lock.class) == lock_kind::ONCE)
}

/// Says in a finding about a cycle that the lock at `once` is a control, and what helps.
pub fn tell(once: usize, what: &mut OrderFault) {
    what.evidence.push(Evidence::HeldWhileInitialising { once });
    let is_order = |remedy: &Remedy| {
        matches!(remedy, Remedy::TakeBefore { .. } | Remedy::OrderOfTheirOwn { .. })
    };
    if what.remedies.first().is_some_and(is_order) {
        what.remedies = vec![Remedy::InitialiseWithoutLock { once }];
    }
}
