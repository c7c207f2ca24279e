//! The threads that wake a thread which waits with a lock kept, and whether they must take that
//! lock first: then neither goes on.
//!
//! What a thread takes on its way to a signal is what it holds at the signal, and what it took in
//! the *round* before: since it last told anybody anything (`engines/lockdep/checks/wakeup.rs`). Only such
//! rounds are looked at whose thread may run while the wait is under way.
//!
//! That the signaller can be stopped on its way while the other waits is sure of its first signal
//! after the wait began. In the run it took the lock before that, and told nobody anything in
//! between: so the wait may as well begin before it takes the lock, and then nothing has come that
//! would end it. For any other signal that is not known: an earlier one by the same thread, sent
//! before it came to the lock, may end the wait.
//!
//! A ledger that has reached a bound lacks signals, or what orders threads. Then it is not known that no
//! thread signals without the lock, or that the wait and a signal can meet ([`gap`]).

use std::collections::HashSet;

use lockwright_ledger::layout::bounded;
use lockwright_ledger::rows::{self, Finding as Row, Node, mode, signalled};

use super::signal_rounds::{Rounds, kept, waits};
use super::waits_through::{Through, Ways};
use crate::finding::misuse::Gap;
use crate::model::LockRef;
use crate::view::process_view::{ProcessView, reference};

/// What is known of the threads that signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signallers {
    /// No thread was seen to signal that could have done so during the wait.
    Unknown,
    /// One took a kept lock on its way.
    Needs(Need),
    /// One took a lock that another thread may hold while it waits for a kept one.
    NeedsThrough(Through),
    /// None of these took one.
    Independent(Vec<u32>),
}

impl Signallers {
    /// One of them needs a kept lock.
    pub fn are_needed(&self) -> bool {
        matches!(self, Self::Needs(_) | Self::NeedsThrough(_))
    }
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
    /// It is that very lock, waited for as long as it takes, and on the way to what would have ended
    /// the wait.
    pub is_sure: bool,
    /// Threads that signalled without taking any kept lock.
    pub others: Vec<u32>,
    /// Something unrecorded may order the wait and the signal.
    pub is_late: bool,
}

/// How much one signal needs a kept lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Needed {
    /// One of its class, or one that was taken at some time before.
    Perhaps,
    /// The lock itself, on the way to another signal than what would have ended the wait.
    Otherwise,
    /// The lock itself.
    Surely,
}

/// The signallers of the wait in `row` (`id`), which keeps locks.
pub fn of(view: &ProcessView<'_, '_>, ways: &Ways<'_, '_>, id: u32, row: &Row) -> Signallers {
    let rounds = Rounds::of(view.model, id, row);
    let kept: Vec<Node> = kept(view, row).collect();
    if rounds.all.is_empty() || kept.is_empty() {
        return Signallers::Unknown;
    }
    match directly(view, row, &rounds, &kept) {
        Signallers::Independent(others) => ways
            .through(view, row, &rounds)
            .map_or(Signallers::Independent(others), Signallers::NeedsThrough),
        direct => direct,
    }
}

/// What may be missing of signals during the wait of `row`, so that what `signallers` says is not sure.
pub fn gap(view: &ProcessView<'_, '_>, signallers: &Signallers) -> Option<Gap> {
    let lacks_signals = view.model.ledger.header().bounded & bounded::SIGNALLERS != 0;
    match signallers {
        Signallers::Unknown => None,
        _ if lacks_signals => Some(Gap::Signals),
        Signallers::Needs(Need { is_late: true, .. })
        | Signallers::NeedsThrough(Through { is_late: true, .. }) => Some(Gap::Orders),
        _ => None,
    }
}

/// The signallers, by whether they take the very locks that are kept, or such of their class.
fn directly(view: &ProcessView<'_, '_>, row: &Row, rounds: &Rounds, kept: &[Node]) -> Signallers {
    let acquired = Acquired::of(view, kept);
    let mut best: Option<(Needed, Need)> = None;
    let rank = |needed: Needed, need: &Need| (needed, !need.is_late);
    let is_late = |round: &Row| {
        [row.segment, round.segment].iter().any(|&segment| view.model.lacks_orders(segment))
    };
    let mut others = Vec::new();
    // Threads that needed a kept lock for sure, and such that perhaps did.
    let (mut sure, mut doubtful) = (HashSet::new(), HashSet::new());
    for (id, round) in &rounds.all {
        let segments = rounds.segments(view.model, round);
        let needed = acquired.needed(view, kept, round, &segments).map(|(needed, need)| {
            let is_sure = needed == Needed::Surely
                && row.mode & mode::TRY == 0
                && rounds.may_end_wait(*id, round.thread)
                && (all_is_told(row) || need.is_held || takes_only(view, &need, &segments));
            match needed {
                Needed::Surely if is_sure => _ = sure.insert(round.thread),
                Needed::Perhaps => _ = doubtful.insert(round.thread),
                _ => {}
            }
            let needed = if is_sure { needed } else { needed.min(Needed::Otherwise) };
            (needed, Need { is_sure, is_late: is_late(round), ..need })
        });
        match needed {
            None => others.push(round.thread),
            Some((needed, need)) => {
                let is_better = |best: &(Needed, Need)| rank(best.0, &best.1) < rank(needed, &need);
                if best.as_ref().is_none_or(is_better) {
                    best = Some((needed, need));
                }
            }
        }
    }
    others.sort_unstable();
    others.dedup();
    match best {
        // Locks of one class are many: that some were taken by some is no news.
        Some((Needed::Perhaps, _)) if !others.is_empty() => Signallers::Independent(others),
        Some((_, need)) => {
            // Another may signal that can do without.
            let is_sure = need.is_sure && doubtful.is_subset(&sure);
            Signallers::Needs(Need { is_sure, others, ..need })
        }
        None => Signallers::Independent(others),
    }
}

/// A thread brings about what the wait in `row` is for by calls that are recorded. A latch is counted down without one if no
/// thread waits for it just then.
fn all_is_told(row: &Row) -> bool {
    row.mode & (mode::FUTEX_WAIT | mode::ONCE) != mode::FUTEX_WAIT
}

/// Whether the thread took the lock, and no other: then nothing that is recorded came between that lock and the signal, by which the
/// thread may have heard of the wait.
fn takes_only(view: &ProcessView<'_, '_>, need: &Need, segments: &[u32]) -> bool {
    let trie = &view.model.trie;
    let is_in_round = |id: u32| trie.segments(id).iter().any(|taken| segments.contains(taken));
    (1..trie.len()).filter(|&id| is_in_round(id)).all(|id| {
        trie.node(id).is_none_or(|node| {
            node.class == 0
                || view.model.classes.is_thread_end(node.class)
                || node.class == need.lock.class && [0, need.lock.inst].contains(&node.inst)
        })
    })
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

    /// Whether what is held as in `gate` was taken in the round.
    fn is_taken(
        &self,
        view: &ProcessView<'_, '_>,
        gate: &Node,
        is_in_round: impl Fn(u32) -> bool,
    ) -> bool {
        self.nodes.iter().any(|&(id, _)| {
            let taken = view.model.trie.node(id).is_some_and(|node| {
                (node.parent, node.class, node.site) == (gate.parent, gate.class, gate.site)
                    && [0, gate.inst].contains(&node.inst)
            });
            taken && is_in_round(id)
        })
    }

    /// How much a signal needs a kept lock, and which. `None` if it does not.
    fn needed(
        &self,
        view: &ProcessView<'_, '_>,
        kept: &[Node],
        round: &Row,
        segments: &[u32],
    ) -> Option<(Needed, Need)> {
        if round.detail == signalled::IN_HANDLER {
            return None;
        }
        let need = |lock: &Node, taken: u32, is_held: bool, needed: Needed| {
            let is_sure = needed == Needed::Surely;
            let (thread, signal, lock) = (round.thread, round.stack, reference(lock));
            let others = Vec::new();
            Some((
                needed,
                Need { thread, lock, taken, signal, is_held, is_sure, others, is_late: false },
            ))
        };
        if let Some((id, held, lock)) = outermost(view, kept, round.node)
            && waits(&held)
        {
            let waits_for_good = held.mode & mode::TIMED == 0;
            let needed = if waits_for_good { Needed::Surely } else { Needed::Perhaps };
            return need(lock, id, true, needed);
        }
        let is_in_round =
            |id: u32| view.model.trie.segments(id).iter().any(|taken| segments.contains(taken));
        let mut perhaps = None;
        for &(id, i) in &self.nodes {
            let Some(node) = view.model.trie.node(id).filter(|_| is_in_round(id)) else { continue };
            // Where it holds others of the kept locks already, it is the first that it waits for.
            let gate = outermost(view, kept, node.parent);
            let is_gate_sure = |gate: &Node| waits(gate) && self.is_taken(view, gate, is_in_round);
            let (taken, lock) = match gate {
                Some((id, gate, lock)) if is_gate_sure(&gate) => ((id, gate), lock),
                Some(_) => {
                    perhaps = perhaps.or(Some((id, i)));
                    continue;
                }
                None => ((id, *node), &kept[i]),
            };
            let is_sure = round.detail == signalled::ROUND
                && view.model.is_of_lock(&taken.1, lock)
                && taken.1.mode & mode::TIMED == 0;
            match is_sure {
                true => return need(lock, taken.0, false, Needed::Surely),
                false => perhaps = perhaps.or(Some((id, i))),
            }
        }
        perhaps.and_then(|(id, i)| need(&kept[i], id, false, Needed::Perhaps))
    }
}

/// The first of the kept locks that the thread at `node` has taken: that acquisition, and the lock
/// as it is kept.
fn outermost<'k>(
    view: &ProcessView<'_, '_>,
    kept: &'k [Node],
    node: u32,
) -> Option<(u32, Node, &'k Node)> {
    let is_kept = |(id, held): (u32, Node)| {
        let lock = kept.iter().find(|lock| lock.inst != 0 && lock.inst == held.inst)?;
        excludes(lock, &held).then_some((id, held, lock))
    };
    view.path(node).filter_map(is_kept).last()
}

/// Whether an acquisition as in `node` waits for a hold as in `lock`.
fn excludes(lock: &Node, node: &Node) -> bool {
    rows::excludes(node.mode, lock.mode)
}
