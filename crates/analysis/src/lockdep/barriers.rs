//! Locks that are kept at a barrier, and that another thread takes before it comes there.
//!
//! If that thread comes to the lock when the first is at the barrier already, neither goes on: the
//! first waits for it there. What is held at a barrier is on record, and which threads met; so for
//! each lock that is kept it is looked who of the others took it on the way. What lies before the
//! hold in every run, or is kept from it by another lock, cannot come too late for it.
//!
//! Which threads come is sure only if no more than the barrier is for were seen to come. Longer
//! cycles are not looked for, and neither are rounds beyond those that are on record.

use std::collections::{HashMap, HashSet};

use lockwright_ledger::rows::{
    Class, Node, Segment, Sync, mode, node_flag, segment_kind, sync_kind,
};

use super::circular::orders_threads;
use super::judge::Judge;
use super::online;
use crate::finding::order::{Evidence, Fault, OrderFault, Remedy};
use crate::finding::{Details, Finding, Grade, Kind};
use crate::model::{LockRef, Model, is_read};
use crate::view::candidate::Candidate;
use crate::view::occurrence::{Acquisition, Context, Level};
use crate::view::process_view::{ProcessView, reference};

/// Pairs of acquisitions looked at.
const MOST_LOOKS: u64 = 1_000_000;

/// The barrier, and the lock that is kept, among the locks of a finding.
const KEPT: usize = 0;
const BARRIER: usize = 1;

/// A round of a barrier.
struct Round {
    addr: u64,
    /// The threads that came, and their last segments before that.
    parties: Vec<(u32, u32)>,
    /// No others were seen to come in any round.
    is_sure: bool,
}

/// A wait at a barrier with a lock kept, and the acquisition of that by another.
struct Kept {
    wait: Acquisition,
    taken: Acquisition,
    addr: u64,
    grade: Grade,
    is_timed: bool,
}

/// What is found in one process.
pub(super) fn find(view: &ProcessView<'_, '_>) -> Vec<Candidate> {
    let model = view.model;
    let waits: Vec<u32> = (1..model.trie.len()).filter(|&id| is_wait(model, id)).collect();
    if waits.is_empty() {
        return Vec::new();
    }
    let (rounds, round_of) = rounds(model);
    let taken = taken(model, &waits);
    let judge = Judge::new(model);
    let mut looks = 0;
    // By the call sites of the wait, of the lock that is kept, and of its acquisition.
    let mut found: HashMap<(u64, u64, u64), Kept> = HashMap::new();
    for &id in &waits {
        let wait_site = model.trie.node(id).map_or(0, |node| node.site);
        for &segment in model.trie.segments(id) {
            let (Some(thread), Some(&round)) =
                (model.order.thread(segment), round_of.get(&segment))
            else {
                continue;
            };
            let round: &Round = &rounds[round];
            for (held, kept) in model.trie.held(id) {
                for &(node, at) in taken.get(&kept.inst).into_iter().flatten() {
                    looks += 1;
                    if looks > MOST_LOOKS {
                        break;
                    }
                    let by = model.order.thread(at);
                    let comes = |&&(party, last): &&(u32, u32)| Some(party) == by && at <= last;
                    let Some(&(other, _)) = round.parties.iter().find(comes) else { continue };
                    let Some(row) = model.trie.node(node).filter(|row| excludes(row, kept)) else {
                        continue;
                    };
                    let wait =
                        Acquisition { context: Context { acquired: id, held }, segment, thread };
                    let context = Context { acquired: node, held: row.parent };
                    let taken = Acquisition { context, segment: at, thread: other };
                    if other == thread || !judge.may_meet(&[wait, taken]) {
                        continue;
                    }
                    let is_timed = row.mode & mode::TIMED != 0;
                    let grade = match round.is_sure && !is_timed {
                        true => Grade::Likely,
                        false => Grade::Possible,
                    };
                    let new = Kept { wait, taken, addr: round.addr, grade, is_timed };
                    let known = found.entry((wait_site, kept.site, row.site));
                    let known = known.or_insert(Kept { ..new });
                    if grade < known.grade {
                        *known = Kept { wait, taken, addr: round.addr, grade, is_timed };
                    }
                }
            }
        }
    }
    let mut all: Vec<((u64, u64, u64), Kept)> = found.into_iter().collect();
    all.sort_by_key(|(_, kept)| (kept.grade, kept.wait.segment, kept.wait.context));
    all.iter().map(|(_, kept)| candidate(view, kept)).collect()
}

fn is_wait(model: &Model<'_>, id: u32) -> bool {
    model
        .trie
        .node(id)
        .is_some_and(|node| node.class == 0 && node.mode & mode::BARRIER != 0 && node.parent != 0)
}

/// The rounds on record, and by segment that ended at a barrier, which of them.
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

/// By lock that is kept in one of the waits: its acquisitions by threads that wait for it, and in which
/// segments.
fn taken(model: &Model<'_>, waits: &[u32]) -> HashMap<u32, Vec<(u32, u32)>> {
    let mut taken: HashMap<u32, Vec<(u32, u32)>> = HashMap::new();
    let mut single: HashMap<u32, u32> = HashMap::new();
    for (_, node) in waits.iter().flat_map(|&id| model.trie.held(id)) {
        if node.inst != 0 && model.classes.excludes(node.class) {
            taken.entry(node.inst).or_default();
            let row = model.ledger.get::<Class>(node.class);
            if row.is_some_and(|class| class.locks == 1) {
                single.insert(node.class, node.inst);
            }
        }
    }
    for id in 1..model.trie.len() {
        let Some(node) = model.trie.node(id).filter(|node| node.class != 0 && blocks(node)) else {
            continue;
        };
        // With nothing held the class is on record.
        let inst = match node.inst {
            0 => single.get(&node.class).copied().unwrap_or(0),
            inst => inst,
        };
        if let Some(all) = taken.get_mut(&inst) {
            all.extend(model.trie.segments(id).iter().map(|&segment| (id, segment)));
        }
    }
    taken
}

fn blocks(node: &Node) -> bool {
    node.mode & mode::TRY == 0 && node.flags & node_flag::IN_HANDLER == 0
}

/// Whether who acquires as in `node` waits for who holds as in `kept`.
fn excludes(node: &Node, kept: &Node) -> bool {
    !(is_read(node.mode) && is_read(kept.mode))
}

fn candidate(view: &ProcessView<'_, '_>, kept: &Kept) -> Candidate {
    let model = view.model;
    let lock = model.trie.node(kept.wait.context.held).map(reference).unwrap_or_default();
    let mut involved = view.involved(Level::Instance, vec![lock, LockRef::default()]);
    (involved.names[BARRIER], involved.infos[BARRIER]) = online::barrier(model, kept.addr);
    let mut evidence = vec![Evidence::TakenBeforeBarrier { step: 1 }];
    match kept.grade {
        Grade::Likely => {
            evidence.extend([Evidence::Unordered(orders_threads(model)), Evidence::NoGate]);
        }
        _ if kept.is_timed => evidence.push(Evidence::Timeout { step: 1 }),
        _ => evidence.push(Evidence::OthersCome { barrier: BARRIER }),
    }
    let finding = Finding {
        kind: Kind::CircularDependency,
        grade: kept.grade,
        details: Details::Order(OrderFault {
            fault: Fault::KeptAtBarrier { barrier: BARRIER, step: 1 },
            evidence,
            remedies: vec![Remedy::MeetWithoutLock { barrier: BARRIER, step: 1 }],
        }),
        steps: vec![
            view.step(&involved, &kept.wait, BARRIER),
            view.step(&involved, &kept.taken, KEPT),
        ],
        locks: involved.infos,
        pid: model.ledger.header().pid,
        process: None,
        origins: Vec::new(),
        also: 0,
    };
    let place = |acquisition: &Acquisition| view.place(acquisition.context.acquired);
    let key = format!(
        "barrier\n{}\n{:?}\n{:?}",
        view.signature(kept.wait.context),
        place(&kept.wait),
        place(&kept.taken)
    );
    Candidate { finding, key, insts: vec![lock.inst], classes: view.classes(&[lock]) }
}
