//! Cycles with the loader's lock: what to do about them is not to load, or not to do so much while
//! loading, as nobody takes that lock by name.

use lockwright_ledger::rows::LOADER_LOCK;

use crate::finding::LockOrigin;
use crate::finding::order::{Evidence, OrderFault, Remedy};
use crate::model::{LockRef, Model};

/// The place of the loader's lock among those of a cycle.
pub fn place(model: &Model<'_>, locks: &[LockRef]) -> Option<usize> {
    locks.iter().position(|lock| {
        let group = model.classes.group(model.classes.group_of(lock.class));
        group.origin == LockOrigin::Annotation && group.name().text == LOADER_LOCK
    })
}

/// Says in a finding about a cycle of `parts` that the one at `loader` is the loader's lock, and
/// what helps.
pub fn tell(loader: usize, parts: usize, what: &mut OrderFault) {
    what.evidence.push(Evidence::HeldWhileLoading);
    let remedy = match what.remedies.first() {
        Some(Remedy::TakeBefore { .. } | Remedy::OrderOfTheirOwn { .. }) => {
            Remedy::LoadWithoutLock { loader }
        }
        Some(&Remedy::JoinWithoutLock { end }) if (loader + 1) % parts == end => {
            Remedy::JoinOutsideLoader { end }
        }
        _ => return,
    };
    what.remedies = vec![remedy];
}
