//! Locks that are kept at a barrier, and that another thread takes before it comes there.
//!
//! If that thread comes to the lock when the first is at the barrier already, neither goes on: the
//! first waits for it there. The ledger records the locks held at a barrier, and the threads that
//! met there. So for each lock that is kept we look for other threads that took it on the way. What
//! lies before the hold in every run, or is kept from it by another lock, cannot come too late for
//! it.
//!
//! The same goes for a lock of a third thread that waits for the kept one, and so on:
//! see [`super::chains`].
//!
//! Which threads come is sure only if no more than the barrier is for were seen to come. Unrecorded
//! rounds are not looked at.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use lockwright_ledger::rows::{Node, Segment, Sync, mode, node_flag, segment_kind, sync_kind};

use super::chains::{Chains, single_locks};
use super::circular::{handed_on, orders_threads};
use super::deadlocks;
use crate::finding::coverage::{Note, Search::LockCycles};
use crate::finding::order::{Evidence, Fault, OrderFault, Remedy, barrier, cycle, doubt};
use crate::finding::{Details, Finding, Grade, Kind};
use crate::lockdep::judge::{Judge, Obstacle};
use crate::model::given_up::GivenUp;
use crate::model::{LockRef, Model};
use crate::view::candidate::Candidate;
use crate::view::occurrence::{Acquisition, Context, Level};
use crate::view::process_view::{ProcessView, reference};

/// Pairs of acquisitions looked at.
const MOST_LOOKS: u64 = 1_000_000;

/// The barrier among the locks of a finding.
const BARRIER: usize = 1;

/// A round of a barrier.
struct Round {
    addr: u64,
    /// The threads that came, and their last segments before that.
    parties: Vec<(u32, u32)>,
    /// No others were seen to come in any round.
    is_sure: bool,
}

/// A wait at a barrier with a lock kept, and what leads to that lock from what another takes before
/// it comes.
struct Kept {
    /// The wait, the acquisition by the other, and those of the chain between.
    steps: Vec<Acquisition>,
    addr: u64,
    grade: Grade,
    /// The first step that may back out.
    timed: Option<usize>,
    /// A signal kept two steps apart in this run ([`Obstacle::HandedOn`]).
    handed_on: Option<Obstacle>,
}

/// The call sites of the lock that is kept, of the wait, and of what leads there.
type Sites = Vec<u64>;

/// What is found in one process.
pub(crate) fn find(view: &ProcessView<'_, '_>, notes: &mut Vec<Note>) -> Vec<Candidate> {
    let model = view.model;
    let waits: Vec<u32> = (1..model.trie.len()).filter(|&id| is_wait(model, id)).collect();
    if waits.is_empty() {
        return Vec::new();
    }
    let mut search = Search::new(model, waits);
    search.look(Length::Two);
    search.look(Length::More);
    if search.chains.is_cut() || search.looks > MOST_LOOKS {
        notes.push(Note::SearchCut(LockCycles));
    }
    let mut all: Vec<(Sites, Kept)> = search.found.into_iter().collect();
    all.sort_by_key(|(_, kept)| {
        let wait = kept.steps[0];
        (kept.grade, kept.steps.len(), wait.segment, wait.context)
    });
    all.iter().map(|(_, kept)| candidate(view, kept)).collect()
}

/// The threads of a cycle.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Length {
    Two,
    More,
}

struct Search<'m, 'a> {
    model: &'m Model<'a>,
    judge: Judge<'m, 'a>,
    chains: Chains<'m, 'a>,
    waits: Vec<u32>,
    rounds: Vec<Round>,
    /// By segment that ended at a barrier: its round.
    round_of: HashMap<u32, usize>,
    /// By lock: its acquisitions by threads that wait for it, and in which segments.
    taken: HashMap<u32, Vec<(u32, u32)>>,
    looks: u64,
    /// Sorted, so that findings which are alike have the same order in each report.
    found: BTreeMap<Sites, Kept>,
    /// The sites of waits, and of locks kept there, that are part of a cycle of two.
    pairs: HashSet<(u64, u64)>,
}

impl<'m, 'a> Search<'m, 'a> {
    fn new(model: &'m Model<'a>, waits: Vec<u32>) -> Self {
        let chains = Chains::new(model);
        let (rounds, round_of) = rounds(model);
        let taken = taken(model, &chains, &waits);
        Self {
            judge: Judge::new(model),
            chains,
            waits,
            rounds,
            round_of,
            taken,
            looks: 0,
            found: BTreeMap::new(),
            pairs: HashSet::new(),
            model,
        }
    }

    /// Looks for cycles of such a length. Where there is a shorter one for a lock that is kept, a longer one
    /// says nothing new.
    fn look(&mut self, length: Length) {
        let model = self.model;
        for id in self.waits.clone() {
            let wait_site = model.trie.node(id).map_or(0, |node| node.site);
            for &segment in model.trie.segments(id) {
                let (Some(thread), Some(&round)) =
                    (model.order.thread(segment), self.round_of.get(&segment))
                else {
                    continue;
                };
                for (held, kept) in model.trie.held(id) {
                    let is_done = || self.pairs.contains(&(wait_site, kept.site));
                    if kept.inst != 0 && !(length == Length::More && is_done()) {
                        let context = Context { acquired: id, held };
                        self.wait(&Acquisition { context, segment, thread }, round, kept, length);
                    }
                }
            }
        }
    }

    /// Looks who of the others comes to the `round` by way of `kept`, which the wait keeps.
    fn wait(&mut self, wait: &Acquisition, round: usize, kept: &Node, length: Length) {
        let model = self.model;
        let parts = self.chains.leading_to(kept.inst);
        let mut locks: Vec<(usize, u32)> = parts.iter().map(|(&lock, &n)| (n, lock)).collect();
        locks.sort_unstable();
        locks.retain(|&(n, _)| (n == 0) == (length == Length::Two));
        let wait_site = model.trie.node(wait.context.acquired).map_or(0, |node| node.site);
        for (_, lock) in locks {
            for i in 0..self.taken.get(&lock).map_or(0, Vec::len) {
                let (node, at) = self.taken[&lock][i];
                self.looks += 1;
                if self.looks > MOST_LOOKS {
                    return;
                }
                let round = &self.rounds[round];
                let by = model.order.thread(at);
                let comes = |&&(party, last): &&(u32, u32)| Some(party) == by && at <= last;
                let Some(&(other, _)) = round.parties.iter().find(comes) else { continue };
                let Some(row) = model.trie.node(node) else { continue };
                let context = Context { acquired: node, held: row.parent };
                let taken = Acquisition { context, segment: at, thread: other };
                let mut steps = vec![*wait, taken];
                if other == wait.thread || !self.judge.may_meet(&steps) {
                    continue;
                }
                let chain = self.chains.find(&self.judge, &steps, lock, kept, &parts);
                let Some(chain) = chain else { continue };
                steps.extend(chain);
                let (addr, is_sure) = (round.addr, round.is_sure);
                if length == Length::Two {
                    self.pairs.insert((wait_site, kept.site));
                }
                self.add(steps, addr, is_sure);
            }
        }
    }

    fn add(&mut self, steps: Vec<Acquisition>, addr: u64, is_sure: bool) {
        let node = |id: u32| self.model.trie.node(id).copied().unwrap_or_default();
        let acquired = |step: &Acquisition| node(step.context.acquired);
        let timed = steps.iter().position(|step| acquired(step).mode & mode::TIMED != 0);
        let is_sure = is_sure && !self.judge.is_unsure(&steps);
        let handed_on = self.judge.handed_on(&steps);
        let grade = match is_sure && timed.is_none() && handed_on.is_none() {
            true => Grade::Likely,
            false => Grade::Possible,
        };
        let kept = node(steps[0].context.held).site;
        let sites = std::iter::once(kept).chain(steps.iter().map(|step| acquired(step).site));
        let sites: Sites = sites.collect();
        let new = Kept { steps, addr, grade, timed, handed_on };
        match self.found.entry(sites) {
            Entry::Vacant(entry) => _ = entry.insert(new),
            Entry::Occupied(mut known) if grade < known.get().grade => _ = known.insert(new),
            Entry::Occupied(_) => {}
        }
    }
}

fn is_wait(model: &Model<'_>, id: u32) -> bool {
    model
        .trie
        .node(id)
        .is_some_and(|node| node.class == 0 && node.mode & mode::BARRIER != 0 && node.parent != 0)
}

/// The recorded rounds, and for each segment that ended at a barrier the number of its round.
fn rounds(model: &Model<'_>) -> (Vec<Round>, HashMap<u32, usize>) {
    let segment = |id: u32| model.ledger.get::<Segment>(id);
    let mut rounds = Vec::new();
    let mut round_of = HashMap::new();
    for (_, sync) in model.ledger.rows::<Sync>().filter(|(_, row)| row.kind == sync_kind::BARRIER) {
        let first = rounds.len();
        for &head in sync.segments.iter().filter(|&&head| head != 0) {
            let mut parties: Vec<(u32, u32)> = Vec::new();
            let mut at = head;
            while let Some(row) = segment(at).filter(|row| row.kind == segment_kind::MEETING) {
                parties.extend(model.order.thread(row.peer).map(|thread| (thread, row.peer)));
                // A sound ledger's rows refer back.
                at = Some(row.prev).filter(|&prev| prev < at).unwrap_or(0);
            }
            for &(_, last) in &parties {
                let mut at = last;
                // What the thread holds may have ended holds as it came: segments in which it did
                // nothing.
                while round_of.insert(at, rounds.len()).is_none()
                    && let Some(row) = segment(at).filter(|row| row.kind == segment_kind::PASSED)
                {
                    at = row.prev;
                }
            }
            rounds.push(Round { addr: sync.addr, parties, is_sure: false });
        }
        let came = |round: &Round| round.parties.iter().map(|party| party.0).collect::<Vec<_>>();
        let threads: HashSet<u32> = rounds[first..].iter().flat_map(came).collect();
        let is_sure = threads.len() as u64 == u64::from(sync.size) && sync.shared == 0;
        for round in &mut rounds[first..] {
            round.is_sure = is_sure;
        }
    }
    (rounds, round_of)
}

/// By lock that is kept in one of the waits, or from which a chain leads to one: its acquisitions by
/// threads that wait for it, and in which segments.
fn taken(
    model: &Model<'_>,
    chains: &Chains<'_, '_>,
    waits: &[u32],
) -> HashMap<u32, Vec<(u32, u32)>> {
    let kept = waits.iter().flat_map(|&id| model.trie.held(id));
    let kept = kept.filter(|(_, node)| node.inst != 0 && model.classes.excludes(node.class));
    let kept: HashSet<u32> = kept.map(|(_, node)| node.inst).collect();
    let mut taken: HashMap<u32, Vec<(u32, u32)>> = HashMap::new();
    for lock in kept.iter().flat_map(|&lock| chains.leading_to(lock).into_keys()) {
        taken.entry(lock).or_default();
    }
    let single = single_locks(model);
    let given_up = GivenUp::new(model.ledger);
    for id in 1..model.trie.len() {
        let Some((by, node)) = taken_by(model, id) else { continue };
        // With nothing held only the class is recorded.
        let inst = match node.inst {
            0 => single.get(&node.class).copied().unwrap_or(0),
            inst => inst,
        };
        let Some(all) = taken.get_mut(&inst) else { continue };
        for &segment in model.trie.segments(id) {
            let at = match model.order.thread(segment) {
                Some(thread) if by != id => given_up.after(thread, inst, segment),
                _ => segment,
            };
            all.push((by, at));
        }
    }
    taken
}

/// The acquisition of a node, if it waits for the lock.
///
/// A condition wait with nothing else held takes its mutex again as it was taken before: of that
/// there is no node of its own.
fn taken_by<'a>(model: &'a Model<'_>, id: u32) -> Option<(u32, &'a Node)> {
    let node = model.trie.node(id)?;
    if node.class == 0 && node.mode & mode::COND_WAIT != 0 {
        let mutex = model.trie.node(node.parent).filter(|mutex| mutex.parent == 0)?;
        return Some((node.parent, mutex));
    }
    (node.class != 0 && blocks(node)).then_some((id, node))
}

fn blocks(node: &Node) -> bool {
    node.mode & mode::TRY == 0 && node.flags & node_flag::IN_HANDLER == 0
}

fn candidate(view: &ProcessView<'_, '_>, kept: &Kept) -> Candidate {
    let model = view.model;
    let steps = &kept.steps;
    let n = steps.len();
    let held =
        |step: &Acquisition| model.trie.node(step.context.held).map(reference).unwrap_or_default();
    // What each step holds; of that which must come it is the barrier.
    let mut refs: Vec<LockRef> = steps.iter().map(held).collect();
    refs[BARRIER] = LockRef::default();
    let mut locks = refs.clone();
    locks.remove(BARRIER);
    let mut involved = view.involved(Level::Instance, refs);
    (involved.names[BARRIER], involved.infos[BARRIER]) = deadlocks::barrier(model, kept.addr);
    let mut evidence = vec![Evidence::Barrier(barrier::Evidence::TakenBeforeBarrier { step: 1 })];
    match (kept.grade, kept.timed) {
        (Grade::Likely, _) => {
            evidence.extend([
                Evidence::Cycle(cycle::Evidence::Unordered(orders_threads(model))),
                Evidence::Cycle(cycle::Evidence::NoGate),
            ]);
        }
        (_, Some(step)) => evidence.push(Evidence::Doubt(doubt::Evidence::Timeout { step })),
        _ if let Some(Obstacle::HandedOn(early, late, signal)) = kept.handed_on => {
            evidence.push(handed_on(model, [early, late], signal));
        }
        _ => evidence.push(Evidence::Barrier(barrier::Evidence::OthersCome { barrier: BARRIER })),
    }
    let step = |(i, acquisition)| view.step(&involved, acquisition, (i + 1) % n);
    let finding = Finding {
        kind: Kind::CircularDependency,
        grade: kept.grade,
        details: Details::Order(OrderFault {
            fault: match n {
                2 => Fault::Barrier(barrier::Fault::KeptAtBarrier { barrier: BARRIER, step: 1 }),
                _ => Fault::Barrier(barrier::Fault::CycleAtBarrier { barrier: BARRIER }),
            },
            evidence,
            remedies: vec![Remedy::MeetWithoutLock { barrier: BARRIER, step: 1 }],
        }),
        steps: steps.iter().enumerate().map(step).collect(),
        pid: model.ledger.header().pid,
        process: None,
        origins: Vec::new(),
        confirmation: None,
        also: 0,
        locks: involved.infos,
    };
    let places = steps.iter().map(|step| format!("{:?}", view.place(step.context.acquired)));
    let key = format!(
        "barrier\n{}\n{}",
        view.signature(steps[0].context),
        places.collect::<Vec<_>>().join("\n")
    );
    let mut insts: Vec<u32> = locks.iter().map(|lock| lock.inst).collect();
    insts.sort_unstable();
    Candidate { finding, key, insts, classes: view.classes(&locks) }
}
