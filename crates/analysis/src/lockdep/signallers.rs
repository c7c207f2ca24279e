//! Who signals a condition variable that is waited on with another lock kept, and whether those
//! threads ever took that lock.
//!
//! A wait with a lock kept never ends if the thread that is to signal needs that lock first. What a
//! thread needs on its way to the signal a run does not show; but a thread that never took any lock
//! of the kind needs none.

use std::collections::HashSet;

use lockwright_ledger::rows::{Finding as Row, finding_kind, mode};

use crate::model::{LockRef, Model};

/// What is known of the threads that signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signallers {
    /// Nobody was seen to signal, or somebody else may do so who takes the kept lock.
    Unknown,
    /// This thread has signalled, and took a lock of a kept class at some time.
    Needs(u32),
    /// These have signalled, and never took one; nor did anybody else in order to come to the
    /// wait's mutex.
    Independent(Vec<u32>),
}

/// The signallers of the condition variable that `row` tells of a wait on, with `kept` locked.
pub fn of(model: &Model<'_>, row: &Row, kept: &[LockRef]) -> Signallers {
    let mut signallers: Vec<u32> = model
        .ledger
        .rows::<Row>()
        .filter(|(_, by)| by.kind == finding_kind::SIGNALLED && by.addr == row.detail)
        .map(|(_, by)| by.thread)
        .collect();
    signallers.sort_unstable();
    signallers.dedup();
    if signallers.is_empty() || kept.is_empty() {
        return Signallers::Unknown;
    }
    let kept: HashSet<u32> = kept.iter().map(|lock| model.classes.group_of(lock.class)).collect();
    let Some(acquirers) = acquirers(model, &kept) else { return Signallers::Unknown };
    if let Some(&needs) = signallers.iter().find(|thread| acquirers.of_kept.contains(thread)) {
        return Signallers::Needs(needs);
    }
    let mutex = model.classes.group_of(row.class);
    match acquirers
        .inside
        .iter()
        .all(|&(group, thread)| group != mutex || acquirers.waiters.contains(&thread))
    {
        true => Signallers::Independent(signallers),
        // It may be the one that signalled before this was looked at.
        false => Signallers::Unknown,
    }
}

/// Threads by what they did with locks of some classes.
#[derive(Default)]
struct Acquirers {
    /// Took one.
    of_kept: HashSet<u32>,
    /// With one held, took a lock of this class.
    inside: HashSet<(u32, u32)>,
    /// With one held, waited on a condition variable.
    waiters: HashSet<u32>,
}

/// `None` where not all that took them are on record.
fn acquirers(model: &Model<'_>, kept: &HashSet<u32>) -> Option<Acquirers> {
    let mut acquirers = Acquirers::default();
    for id in 1..model.trie.len() {
        let Some(node) = model.trie.node(id) else { continue };
        let group = model.classes.group_of(node.class);
        let is_wait = node.class == 0;
        let inside =
            model.trie.held(id).any(|(_, held)| kept.contains(&model.classes.group_of(held.class)));
        let takes = !is_wait && kept.contains(&group);
        if !takes && !inside {
            continue;
        }
        let segments = model.trie.segments(id);
        // Taken with nothing held, by somebody.
        let is_site = takes && node.parent == 0 && node.inst == 0;
        if node.folded != 0 || is_site && segments.is_empty() {
            return None;
        }
        for thread in segments.iter().map(|&segment| model.order.thread(segment)) {
            let thread = thread?;
            if takes {
                acquirers.of_kept.insert(thread);
            }
            match (inside, is_wait) {
                (true, true) if node.mode & mode::COND_WAIT != 0 => {
                    acquirers.waiters.insert(thread);
                }
                (true, false) => {
                    acquirers.inside.insert((group, thread));
                }
                _ => {}
            }
        }
    }
    Some(acquirers)
}
