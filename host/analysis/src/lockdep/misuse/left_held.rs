//! Locks that a thread idled with, or the process exited with, when the function that took them had
//! returned: which of them were leaked, and which are meant so.
//!
//! A function that is called for the lock returns with it, and its caller's caller may release it:
//! that shows in another pass, or later in this one. What nobody ever released is a leak where the
//! same call releases it in other passes before its function returns.
//!
//! If the run does not show which of several functions, one calling the other, is called for the lock, their code does: a
//! function that forgets an unlock on one way has one on another.

use std::collections::{HashMap, HashSet};

use lockwright_ledger::rows::{Finding as Row, LeftHeld, finding_kind, mode};

use crate::finding::{Frame, Grade};
use crate::model::Model;
use crate::symbolize::wrapper::has_wrapper_name;

/// Modes of contexts that are no acquisitions of their own.
const NO_ACQUISITION: u16 = mode::JOIN | mode::COND_WAIT | mode::COND_REACQUIRE;

/// The holds of a process that may be leaks.
pub(crate) struct LeftHolds {
    /// By row.
    leaks: HashMap<u32, Leak>,
    /// Thread and instance.
    of: HashSet<(u32, u32)>,
}

/// A lock that may have been leaked.
#[derive(Clone, Copy)]
pub(crate) struct Leak {
    pub grade: Grade,
    /// The frame of the function that has returned, of the stack on which the lock was taken.
    pub level: usize,
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
        let leak = |row: &Row| {
            let call = &calls[&address(model, row)];
            if call.outside || ended.contains(&(row.thread, row.inst)) {
                return None;
            }
            let what = LeftHeld::from_bits(row.detail);
            if call.inside {
                return Some(Leak { grade: Grade::Likely, level: what.level.into() });
            }
            let (level, is_called_for_it) = forgetful(model, row, what)?;
            // A thread may mean to keep a lock for good, if no other thread ever wants it.
            let is_meant = is_called_for_it || !is_wanted_elsewhere(model, row);
            let grade = if is_meant { Grade::Untidy } else { Grade::Possible };
            Some(Leak { grade, level })
        };
        let mut left = Self { leaks: HashMap::new(), of: HashSet::new() };
        for (id, row) in rows() {
            if let Some(leak) = leak(&row) {
                left.leaks.insert(id, leak);
                left.of.insert((row.thread, row.inst));
            }
        }
        left
    }

    /// The thread may have leaked the lock.
    pub(crate) fn has(&self, thread: u32, inst: u32) -> bool {
        self.of.contains(&(thread, inst))
    }

    /// The leak of the row, if it is one of a lock that may have been leaked.
    pub(crate) fn leak(&self, row: u32) -> Option<Leak> {
        self.leaks.get(&row).copied()
    }
}

/// The function that may have forgotten the lock, by its frame: the first that releases locks, by its code. If none does, the
/// first that is not called for its locks, by its name or by what it did; else the innermost, and that it is called for them.
/// So is one without a release that was called by a function with one, which has not returned. `None` for functions that are
/// called for locks by their names.
fn forgetful(model: &Model<'_>, row: &Row, what: LeftHeld) -> Option<(usize, bool)> {
    let level = usize::from(what.level);
    let candidates = level.saturating_sub(what.inner.into())..=level + usize::from(what.outer);
    let caller = candidates.end() + 1;
    let releases = |level: usize| model.symbols.releases(row.other_stack, level);
    if let Some(found) = candidates.clone().find(|&level| releases(level) == Some(true)) {
        return Some((found, false));
    }
    let stack = model.stack(row.other_stack);
    let code: Vec<&Frame> = stack.iter().filter(|frame| !frame.inlined).collect();
    let is_named = |level: usize| code.get(level).is_some_and(|frame| has_wrapper_name(frame));
    let unnamed = candidates.filter(|&level| !is_named(level));
    let is_called_for_it = |it: usize| {
        let is_seen = it < level || (it == level && what.wraps);
        releases(it).is_some() && (is_seen || releases(caller) == Some(true))
    };
    let other = unnamed.clone().find(|&it| !is_called_for_it(it)).map(|it| (it, false));
    other.or_else(|| unnamed.clone().next().map(|it| (it, true)))
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
