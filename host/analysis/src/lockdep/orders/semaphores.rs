//! Semaphores that count as locks.

use lockwright_ledger::rows::lock_kind;

use crate::finding::order::{Evidence, cycle};
use crate::model::{LockRef, Model};

/// The semaphores among `locks`, by place.
pub fn among(model: &Model<'_>, locks: &[LockRef]) -> Vec<usize> {
    let is_semaphore = |i: &usize| model.classes.kind(locks[*i].class) == lock_kind::SEMAPHORE;
    (0..locks.len()).filter(is_semaphore).collect()
}

/// That these count as locks.
pub fn why_locks(locks: Vec<usize>) -> Option<Evidence> {
    (!locks.is_empty()).then_some(Evidence::Cycle(cycle::Evidence::Semaphores { locks }))
}
