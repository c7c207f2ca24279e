//! What a report says of semaphores that count as locks.

use lockwright_ledger::rows::lock_kind;

use super::words;
use crate::finding::Name;
use crate::model::{LockRef, Model};

/// The semaphores among `locks`, by place.
pub fn among(model: &Model<'_>, locks: &[LockRef]) -> Vec<usize> {
    let is_semaphore = |i: &usize| model.classes.kind(locks[*i].class) == lock_kind::SEMAPHORE;
    (0..locks.len()).filter(is_semaphore).collect()
}

/// Why they count as locks. `names` are those of all locks, `semaphores` the places of these.
pub fn why_locks(names: &[Name], semaphores: &[usize]) -> Option<String> {
    let (which, they) = match semaphores {
        [] => return None,
        [one] => (format!("{} counts as a lock", names[*one].quoted()), "it begins"),
        all if all.len() == names.len() => ("the semaphores count as locks".into(), "they begin"),
        some => {
            let names: Vec<Name> = some.iter().map(|&i| names[i].clone()).collect();
            (format!("{} count as locks", words::locks(&names)), "they begin")
        }
    };
    Some(format!("{which}: {they} at 1, and nobody else has posted what a thread had taken"))
}
