//! Locks that a thread idled with, or the process exited with, when the function that took them had
//! returned: which of them were leaked, and which are meant so.
//!
//! A function that is called for the lock returns with it, and its caller's caller may release it:
//! that shows in another pass, or later in this one. What nobody ever released is a leak where the
//! same call releases it in other passes before its function returns.

use std::collections::{HashMap, HashSet};

use lockwright_ledger::rows::{Finding as Row, LeftHeld, finding_kind, mode};

use crate::finding::Grade;
use crate::model::Model;

/// Modes of contexts that are no acquisitions of their own.
const NO_ACQUISITION: u16 = mode::JOIN | mode::COND_WAIT | mode::COND_REACQUIRE;

/// The holds of a process that may be leaks.
pub(crate) struct LeftHolds {
    /// By row.
    grades: HashMap<u32, Grade>,
}

/// What is known of a call that takes locks: by its return address.
#[derive(Default)]
struct Call {
    /// Some it released before its function returned.
    inside: bool,
    /// Some were released after that.
    outside: bool,
}

impl LeftHolds {
    pub(crate) fn of(model: &Model<'_>) -> Self {
        let rows = || {
            let rows = model.ledger.rows::<Row>();
            rows.filter(|(_, row)| row.kind == finding_kind::LEFT_HELD)
        };
        let mut calls: HashMap<u64, Call> = HashMap::new();
        for (_, row) in rows() {
            let what = LeftHeld::from_bits(row.detail);
            let call = calls.entry(address(model, &row)).or_default();
            call.inside |= what.inside > 0;
            call.outside |= what.outside || what.released > 0;
        }
        // A thread that ends with a lock has a finding of its own.
        let ended: HashSet<(u32, u32)> = model
            .ledger
            .rows::<Row>()
            .filter(|(_, row)| row.kind == finding_kind::EXIT_HELD)
            .map(|(_, row)| (row.thread, row.inst))
            .collect();
        let grade = |row: &Row| {
            let call = &calls[&address(model, row)];
            if call.outside || ended.contains(&(row.thread, row.inst)) {
                return None;
            }
            Some(match call.inside {
                true => Grade::Likely,
                // A thread may mean to keep a lock for good, if no other thread ever wants it.
                false if is_wanted_elsewhere(model, row) => Grade::Possible,
                false => Grade::Untidy,
            })
        };
        Self { grades: rows().filter_map(|(id, row)| Some((id, grade(&row)?))).collect() }
    }

    /// The grade of the row, if it is one of a lock that may have been leaked.
    pub(crate) fn grade(&self, row: u32) -> Option<Grade> {
        self.grades.get(&row).copied()
    }
}

/// The return address within the function that has returned; 0 if it was not recorded.
fn address(model: &Model<'_>, row: &Row) -> u64 {
    let level = usize::from(LeftHeld::from_bits(row.detail).level);
    let stack = model.ledger.stack(row.other_stack).map(|(frames, _)| frames);
    stack.and_then(|frames| frames.get(level).copied()).unwrap_or(0)
}

/// The lock, or another of its class, is taken at another place or by another thread.
fn is_wanted_elsewhere(model: &Model<'_>, row: &Row) -> bool {
    let trie = &model.trie;
    (1..trie.len()).any(|id| {
        let Some(node) = trie.node(id) else { return false };
        let is_acquisition = node.class == row.class && node.mode & NO_ACQUISITION == 0;
        let by_others = || {
            let mut threads =
                trie.segments(id).iter().filter_map(|&segment| model.order.thread(segment));
            threads.any(|thread| thread != row.thread)
        };
        is_acquisition && (node.stack != row.other_stack || by_others())
    })
}
