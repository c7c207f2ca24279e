//! Waits with a lock kept whose signaller needs another lock first, which a third thread may hold
//! while it waits for the one that is kept (or for one that a fourth has, and so on: see
//! [`crate::lockdep::orders::chains`]): then none of them goes on.
//!
//! It is said only where it is sure, of a single thread that signals: all of its signals that may
//! come during the wait are made after taking such a lock in their round (see
//! [`super::signal_rounds`]), and one of them is the first since the wait began.
//!
//! A wait for an event orders threads by what nobody sees: a thread of the cycle that has waited for
//! one before may be where it is only because another was past its own part. So then it is not sure.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use lockwright_ledger::rows::{Finding as Row, Node, mode, signalled};

use super::signal_rounds::{Rounds, kept, waits};
use crate::lockdep::judge::Judge;
use crate::lockdep::orders::chains::{Chains, single_locks};
use crate::model::Model;
use crate::view::occurrence::{Acquisition, Context};
use crate::view::process_view::ProcessView;

/// A signaller that needs a lock of another thread, which waits for a kept one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Through {
    /// The acquisition of a lock on the signaller's way to the signal.
    pub taken: Acquisition,
    /// Stack of the signal.
    pub signal: u32,
    /// What leads from that lock to one that is kept.
    pub chain: Vec<Acquisition>,
    /// A part of it may back out.
    pub is_timed: bool,
    /// One of the threads has waited for an event before.
    pub has_heard: bool,
    /// Something unrecorded may order these.
    pub is_late: bool,
}

/// The ways by which signallers of one process come to their signals.
pub struct Ways<'m, 'a> {
    model: &'m Model<'a>,
    judge: Judge<'m, 'a>,
    chains: RefCell<Chains<'m, 'a>>,
    single: HashMap<u32, u32>,
    /// By segment: the acquisitions that wait.
    taken: HashMap<u32, Vec<u32>>,
    /// By thread: its waits for events, and in which segments.
    waited: HashMap<u32, Vec<(u32, u32)>>,
}

impl<'m, 'a> Ways<'m, 'a> {
    /// Those of a process.
    pub fn new(model: &'m Model<'a>) -> Self {
        let mut taken: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut waited: HashMap<u32, Vec<(u32, u32)>> = HashMap::new();
        for id in 1..model.trie.len() {
            if model.trie.node(id).is_some_and(|node| node.class != 0 && waits(node)) {
                for &segment in model.trie.segments(id) {
                    taken.entry(segment).or_default().push(id);
                }
            }
            if model.trie.node(id).is_some_and(waits_for_event) {
                for &segment in model.trie.segments(id) {
                    let thread = model.order.thread(segment).unwrap_or(0);
                    waited.entry(thread).or_default().push((id, segment));
                }
            }
        }
        Self {
            judge: Judge::new(model),
            chains: RefCell::new(Chains::new(model)),
            single: single_locks(model),
            taken,
            waited,
            model,
        }
    }

    /// The signaller of the wait in `row`, if it is known to need such a lock.
    pub fn through(
        &self,
        view: &ProcessView<'_, '_>,
        row: &Row,
        rounds: &Rounds,
    ) -> Option<Through> {
        let threads: HashSet<u32> = rounds.all.iter().map(|(_, round)| round.thread).collect();
        if threads.len() != 1 || row.mode & mode::TRY != 0 {
            return None;
        }
        let kept: Vec<(Acquisition, Node)> = kept(view, row)
            .filter(|node| node.inst != 0)
            .filter_map(|node| Some((self.wait(view, row, &node)?, node)))
            .collect();
        let mut found = None;
        for (id, round) in &rounds.all {
            let mut through = self.round(round, &kept, rounds)?;
            through.has_heard = self.has_waited(&kept.first()?.0, |node| is_wait_of(node, row))
                || std::iter::once(&through.taken)
                    .chain(&through.chain)
                    .any(|step| self.has_waited(step, |_| false));
            if rounds.may_end_wait(*id, round.thread) {
                found.get_or_insert(through);
            }
        }
        found
    }

    /// The wait with that lock kept.
    fn wait(&self, view: &ProcessView<'_, '_>, row: &Row, kept: &Node) -> Option<Acquisition> {
        let is_kept = |(_, node): &(u32, Node)| (node.inst, node.class) == (kept.inst, kept.class);
        let (held, _) = view.path(row.node).find(is_kept)?;
        let trie = &self.model.trie;
        // The mutex that the wait gives up is what was taken last: as it was then, it is waited.
        let gives_up = |node: &Node| row.inst != 0 && node.inst == row.inst;
        let acquired = match trie.node(row.node).is_some_and(gives_up) {
            true => row.node,
            false => (1..trie.len())
                .find(|&id| trie.node(id).is_some_and(|node| is_wait_of(node, row)))?,
        };
        let context = Context { acquired, held };
        Some(Acquisition { context, segment: row.segment, thread: row.thread })
    }

    /// Whether the thread has waited for an event by then, except for such waits.
    fn has_waited(&self, step: &Acquisition, but_for: impl Fn(&Node) -> bool) -> bool {
        self.waited.get(&step.thread).into_iter().flatten().any(|&(id, segment)| {
            segment <= step.segment && !self.model.trie.node(id).is_some_and(&but_for)
        })
    }

    /// How one signal needs a lock that leads to one of those `kept`.
    fn round(&self, round: &Row, kept: &[(Acquisition, Node)], rounds: &Rounds) -> Option<Through> {
        if round.detail != signalled::ROUND {
            return None;
        }
        let trie = &self.model.trie;
        let segments = rounds.segments(self.model, round);
        kept.iter().find_map(|(wait, kept)| {
            let parts = self.chains.borrow().leading_to(kept.inst);
            segments.iter().find_map(|segment| {
                self.taken.get(segment).into_iter().flatten().find_map(|&id| {
                    let node = trie.node(id)?;
                    let single = || self.single.get(&node.class).copied();
                    let lock = Some(node.inst).filter(|&inst| inst != 0).or_else(single)?;
                    parts.get(&lock).filter(|&&parts| parts > 0)?;
                    let context = Context { acquired: id, held: node.parent };
                    let taken = Acquisition { context, segment: *segment, thread: round.thread };
                    let given = [*wait, taken];
                    if !self.judge.may_meet(&given) {
                        return None;
                    }
                    let mut chains = self.chains.borrow_mut();
                    let chain = chains.find(&self.judge, &given, lock, kept, &parts)?;
                    let is_timed = |step: &Acquisition| {
                        let node = trie.node(step.context.acquired);
                        node.is_some_and(|node| node.mode & mode::TIMED != 0)
                    };
                    let is_timed = is_timed(&taken) || chain.iter().any(is_timed);
                    let is_late = self.judge.is_unsure(&given) || self.judge.is_unsure(&chain);
                    let signal = round.stack;
                    Some(Through { taken, signal, chain, is_timed, has_heard: false, is_late })
                })
            })
        })
    }
}

fn waits_for_event(node: &Node) -> bool {
    node.class == 0 && node.mode & (mode::COND_WAIT | mode::SEM_WAIT) != 0
}

/// Whether the context is that of the wait in `row`.
fn is_wait_of(node: &Node, row: &Row) -> bool {
    node.class == 0 && (node.mode, node.parent, node.stack) == (row.mode, row.node, row.stack)
}
