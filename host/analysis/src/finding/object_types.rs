//! The types of objects that there are.

use lockwright_ledger::rows::object::object_type::{OWN, TIMER};

/// What they are called, by their numbers in [`lockwright_ledger::rows::object::object_type`]; the
/// first stands for the program's own, and for those of later versions.
const NAMES: [&str; 16] = [
    "object",
    "mutex",
    "rwlock",
    "condition variable",
    "semaphore",
    "barrier",
    "spinlock",
    "once control",
    "mtx_t",
    "cnd_t",
    "timer",
    "thread attributes object",
    "mutex attributes object",
    "rwlock attributes object",
    "condition variable attributes object",
    "barrier attributes object",
];

/// The number of a type that is known: `OWN` stands for all others.
pub fn known(builtin: u32) -> u32 {
    if (builtin as usize) < NAMES.len() { builtin } else { OWN }
}

/// What a type is called.
pub fn name(builtin: u32) -> &'static str {
    NAMES[known(builtin) as usize]
}

/// Whether a thread has such an object in use for as long as it is in use, and does not go on to
/// other things.
pub fn has_user(builtin: u32) -> bool {
    !matches!(known(builtin), OWN | TIMER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwright_ledger::rows::object::object_type::{BARRIERATTR, CND, COND, MUTEX, ONCE, SPIN};

    #[test]
    fn names_are_in_the_order_of_the_numbers() {
        for (builtin, expected) in [
            (OWN, "object"),
            (MUTEX, "mutex"),
            (COND, "condition variable"),
            (SPIN, "spinlock"),
            (ONCE, "once control"),
            (CND, "cnd_t"),
            (TIMER, "timer"),
            (BARRIERATTR, "barrier attributes object"),
            (u32::MAX, "object"),
        ] {
            assert_eq!(name(builtin), expected);
        }
    }
}
