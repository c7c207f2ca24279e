//! The signals that may end a wait with a lock kept. A round is what a thread does between two signals.

use std::collections::HashMap;
use std::ops::Range;

use lockwright_ledger::rows::{
    Finding as Row, Node, SIGNAL_ROUNDS, Segment, finding_kind, mode, node_flag, signalled,
    tells_nobody,
};

use crate::model::Model;
use crate::view::process_view::ProcessView;

/// Rounds looked at for one wait.
const MOST_ROUNDS: usize = 512;

/// What others signalled of what a thread waits for, where that may have been during the wait.
pub struct Rounds {
    /// The rows.
    pub all: Vec<(u32, Row)>,
    /// When the thread waited.
    waits: Vec<u32>,
    first: FirstSignals,
}

impl Rounds {
    pub fn of(model: &Model<'_>, id: u32, row: &Row) -> Self {
        let ids = ids_of_wait(model, id, row);
        let is_by_other = |at: u32, by: &Row| {
            by.kind == finding_kind::SIGNALLED
                && by.addr == row.detail
                && by.thread != row.thread
                && ids.contains(&at)
        };
        let signals = || model.ledger.rows::<Row>().filter(|&(at, ref by)| is_by_other(at, by));
        let waits = segments_of_wait(model, row);
        let meets = |by: &Row| meets(model, &waits, by.segment);
        let all = signals().filter(|(_, by)| meets(by)).take(MOST_ROUNDS);
        let all = all.map(|(at, by)| (at, Row { detail: way_to(row, &by), ..by })).collect();
        Self { all, first: FirstSignals::after(id, signals()), waits }
    }

    /// The segments of a round in which its thread may run while the other waits.
    pub fn segments(&self, model: &Model<'_>, round: &Row) -> Vec<u32> {
        let mut segments = segments_of_round(model, round);
        segments.retain(|&segment| meets(model, &self.waits, segment));
        segments
    }

    /// The signal `id` may be the first of its thread since the wait began.
    pub fn may_end_wait(&self, id: u32, thread: u32) -> bool {
        self.first.may_end_wait(id, thread)
    }
}

/// What is known of the way to a signal that ends a wait, one of [`signalled`].
fn way_to(wait: &Row, by: &Row) -> u64 {
    let is_set_once = wait.mode & mode::ONCE != 0;
    match by.detail {
        signalled::AFTER_ONE if is_set_once => signalled::ROUND,
        signalled::AFTER_ONE => signalled::UNSURE,
        other => other,
    }
}

/// The rows that may be of signals of what the wait `id` is for. There may be another object at a futex' address after it: wakes are
/// recorded while a wait that is recorded lasts.
fn ids_of_wait(model: &Model<'_>, id: u32, row: &Row) -> Range<u32> {
    if row.kind != finding_kind::FUTEX_HELD {
        return 0..u32::MAX;
    }
    let is_next = |(at, by): &(u32, Row)| *at > id && (by.kind, by.addr) == (row.kind, row.addr);
    let next = model.ledger.rows::<Row>().find(is_next);
    id..next.map_or(u32::MAX, |(at, _)| at)
}

fn meets(model: &Model<'_>, waits: &[u32], segment: u32) -> bool {
    waits.iter().any(|&wait| model.order.concurrent(segment, wait))
}

/// The first signal of each thread after a wait began, by row.
struct FirstSignals {
    first: HashMap<u32, u32>,
    /// The number of recorded signals of each thread.
    recorded: HashMap<u32, u32>,
}

impl FirstSignals {
    fn after(wait: u32, signals: impl Iterator<Item = (u32, Row)>) -> Self {
        let mut all = Self { first: HashMap::new(), recorded: HashMap::new() };
        for (id, by) in signals {
            *all.recorded.entry(by.thread).or_default() += 1;
            if id > wait {
                all.first.entry(by.thread).or_insert(id);
            }
        }
        all
    }

    /// The signal may be the first of its thread since the wait began. Where the record of its
    /// thread's is full, the first is like those.
    fn may_end_wait(&self, id: u32, thread: u32) -> bool {
        match self.first.get(&thread) {
            Some(&first) => first == id,
            None => self.recorded.get(&thread).is_some_and(|&n| n >= SIGNAL_ROUNDS),
        }
    }
}

/// The locks that are kept in a wait, innermost first.
pub fn kept<'v>(view: &'v ProcessView<'_, '_>, row: &Row) -> impl Iterator<Item = Node> + use<'v> {
    let inst = row.inst;
    view.path(row.node).map(|(_, node)| node).filter(move |node| node.inst != inst || inst == 0)
}

/// When the thread waited there.
fn segments_of_wait(model: &Model<'_>, row: &Row) -> Vec<u32> {
    let is_it = |node: &Node| {
        node.class == 0 && (node.mode, node.parent, node.stack) == (row.mode, row.node, row.stack)
    };
    let nodes = (1..model.trie.len()).filter(|&id| model.trie.node(id).is_some_and(is_it));
    let mut segments: Vec<u32> = nodes.flat_map(|id| model.trie.segments(id)).copied().collect();
    segments.push(row.segment);
    segments
}

/// The segments of a round: the signal's, and those before that ended with no more than a lock.
fn segments_of_round(model: &Model<'_>, round: &Row) -> Vec<u32> {
    let mut segments = vec![round.segment];
    let mut at = round.segment;
    // A sound ledger's segments come after those before them; so this ends on any.
    while let Some(row) = model.ledger.get::<Segment>(at)
        && tells_nobody(row.kind)
        && row.prev < at
    {
        at = row.prev;
        segments.push(at);
    }
    segments
}

/// A thread that acquires so waits if the lock is held, and it is the thread itself that does.
pub fn waits(node: &Node) -> bool {
    node.mode & (mode::TRY | mode::COND_REACQUIRE) == 0 && node.flags & node_flag::IN_HANDLER == 0
}
