//! Who wakes a thread that waits with a lock kept, and whether that thread must take the lock
//! first: then neither goes on.
//!
//! What a thread takes on its way to a signal is what it holds at the signal, and what it took in
//! the *round* before: since it last told anybody anything (`engines/lockdep/wakeup.rs`). Only such
//! rounds are looked at whose thread may run while the wait is under way.

use std::collections::HashSet;

use lockwright_ledger::rows::{
    Class, Finding as Row, Node, finding_kind, mode, node_flag, signalled,
};

use crate::model::{LockRef, Model, is_read};
use crate::view::process_view::{ProcessView, reference};

/// Rounds looked at for one wait.
const MOST_ROUNDS: usize = 512;

/// What is known of the threads that signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signallers {
    /// Nobody was seen to signal who could have done so during the wait.
    Unknown,
    /// One took a kept lock on its way.
    Needs(Need),
    /// None of these took one.
    Independent(Vec<u32>),
}

/// A signaller that takes a kept lock first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// Who.
    pub thread: u32,
    /// The lock.
    pub lock: LockRef,
    /// Its acquisition ([`Node`]).
    pub taken: u32,
    /// Stack of the signal.
    pub signal: u32,
    /// It holds the lock at the signal.
    pub is_held: bool,
    /// It is that very lock, waited for as long as it takes, and on the way to the signal.
    pub is_sure: bool,
    /// Threads that signalled without taking any kept lock.
    pub others: Vec<u32>,
}

/// How much one signal needs a kept lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Needed {
    /// One of its class, or one that was taken at some time before.
    Perhaps,
    /// The lock itself.
    Surely,
}

/// The signallers of what `row` tells of a wait for, with locks kept.
pub fn of(view: &ProcessView<'_, '_>, row: &Row) -> Signallers {
    let model = view.model;
    let waits = segments_of_wait(model, row);
    let meets = |segment: u32| waits.iter().any(|&wait| model.order.concurrent(segment, wait));
    let is_by_other = |by: &Row| {
        by.kind == finding_kind::SIGNALLED && by.addr == row.detail && by.thread != row.thread
    };
    let rounds: Vec<Row> = model
        .ledger
        .rows::<Row>()
        .map(|(_, by)| by)
        .filter(|by| is_by_other(by) && meets(by.segment))
        .take(MOST_ROUNDS)
        .collect();
    let kept: Vec<Node> = kept(view, row).collect();
    if rounds.is_empty() || kept.is_empty() {
        return Signallers::Unknown;
    }
    let acquired = Acquired::of(view, &kept);
    let mut best: Option<(Needed, Need)> = None;
    let mut others = Vec::new();
    for round in &rounds {
        match acquired.needed(view, &kept, round) {
            None => others.push(round.thread),
            Some(found) if best.as_ref().is_none_or(|best| best.0 < found.0) => best = Some(found),
            Some(_) => {}
        }
    }
    others.sort_unstable();
    others.dedup();
    match best {
        // Locks of one class are many: that some were taken by some is no news.
        Some((Needed::Perhaps, _)) if !others.is_empty() => Signallers::Independent(others),
        Some((_, need)) => Signallers::Needs(Need { others, ..need }),
        None => Signallers::Independent(others),
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

/// Where locks of the kept classes were acquired.
struct Acquired {
    /// Each of the contexts, and which of the kept locks it is of.
    nodes: Vec<(u32, usize)>,
}

impl Acquired {
    fn of(view: &ProcessView<'_, '_>, kept: &[Node]) -> Self {
        let model = view.model;
        let groups: HashSet<u32> = kept.iter().map(|k| model.classes.group_of(k.class)).collect();
        let mut nodes = Vec::new();
        for id in 1..model.trie.len() {
            let Some(node) = model.trie.node(id).filter(|node| node.class != 0) else { continue };
            if !groups.contains(&model.classes.group_of(node.class)) || !waits(node) {
                continue;
            }
            for (i, lock) in kept.iter().enumerate() {
                let same = model.classes.group_of(lock.class) == model.classes.group_of(node.class);
                if same && excludes(lock, node) && (node.inst == 0 || node.inst == lock.inst) {
                    nodes.push((id, i));
                }
            }
        }
        Self { nodes }
    }

    /// How much a signal needs a kept lock, and which. `None` if it does not.
    fn needed(
        &self,
        view: &ProcessView<'_, '_>,
        kept: &[Node],
        round: &Row,
    ) -> Option<(Needed, Need)> {
        if round.detail == signalled::IN_HANDLER {
            return None;
        }
        let need = |lock: &Node, taken: u32, is_held: bool, needed: Needed| {
            let is_sure = needed == Needed::Surely;
            let (thread, signal, lock) = (round.thread, round.stack, reference(lock));
            Some((
                needed,
                Need { thread, lock, taken, signal, is_held, is_sure, others: Vec::new() },
            ))
        };
        for (id, held) in view.path(round.node) {
            let lock = kept.iter().find(|lock| lock.inst != 0 && lock.inst == held.inst);
            if let Some(lock) = lock.filter(|lock| excludes(lock, &held) && waits(&held)) {
                let waits_for_good = held.mode & mode::TIMED == 0;
                let needed = if waits_for_good { Needed::Surely } else { Needed::Perhaps };
                return need(lock, id, true, needed);
            }
        }
        let in_round = |id: u32| view.model.trie.segments(id).contains(&round.segment);
        let mut perhaps = None;
        for &(id, i) in &self.nodes {
            let Some(node) = view.model.trie.node(id).filter(|_| in_round(id)) else { continue };
            let is_sure = round.detail == signalled::ROUND
                && is_that_lock(view.model, node, &kept[i])
                && node.mode & mode::TIMED == 0;
            match is_sure {
                true => return need(&kept[i], id, false, Needed::Surely),
                false => perhaps = perhaps.or(Some((id, i))),
            }
        }
        perhaps.and_then(|(id, i)| need(&kept[i], id, false, Needed::Perhaps))
    }
}

/// A thread that acquires so waits if the lock is held, and it is the thread itself that does.
fn waits(node: &Node) -> bool {
    node.mode & (mode::TRY | mode::COND_REACQUIRE) == 0 && node.flags & node_flag::IN_HANDLER == 0
}

/// Whether who acquires as in `node` waits for who holds as in `lock`.
fn excludes(lock: &Node, node: &Node) -> bool {
    !(is_read(lock.mode) && is_read(node.mode))
}

/// What is acquired with nothing held is known by its class, which may have one lock only.
fn is_that_lock(model: &Model<'_>, node: &Node, lock: &Node) -> bool {
    let is_only = |class| model.ledger.get::<Class>(class).is_some_and(|row| row.locks == 1);
    match node.inst {
        0 => node.class == lock.class && is_only(node.class),
        inst => inst == lock.inst,
    }
}
