//! `inconsistent-state`: locks that a signal's handler takes, and what it may interrupt.
//!
//! A signal may arrive wherever it is open: handled by the program and not blocked in the thread.
//! If the handler takes a lock that its own thread holds, that thread waits for itself. One thread
//! is enough for it, and which one ran the handler in this run does not matter: a handler runs in
//! any thread that does not block its signal. Only a lock of a thread's own is another in each of
//! them. What takes several locks and threads (the kernel's safe -> unsafe orders and lock
//! inversions) is a cycle and found as one; this module puts such a cycle into a finding.

use std::collections::{BTreeMap, HashMap};

use lockwright_ledger::rows::{Finding as Row, Node, Usage, excludes, lock_kind, mode, usage};

use super::behind_writer::behind_writer;
use super::loader;
use crate::finding::action::Action;
use crate::finding::coverage::{Note, Search};
use crate::finding::order::again::Again;
use crate::finding::order::handler::InHandler;
use crate::finding::order::{Evidence, Fault, OrderFault, Remedy, handler};
use crate::finding::{Details, Finding, Grade, HeldLock, Kind, LockOrigin, Step};
use crate::lockdep::judge::Judge;
use crate::model::{LockRef, Model, is_read};
use crate::view::candidate::Candidate;
use crate::view::occurrence::{Acquisition, Context, Level};
use crate::view::process_view::ProcessView;

/// Pairs of a holder and a handler that are looked at for one class and signal.
const MOST_PAIRS: usize = 4096;

/// A use of a lock that a signal matters to.
#[derive(Clone, Copy)]
struct Use {
    row: Usage,
    node: Node,
    thread: u32,
}

/// The records of one class and one signal.
#[derive(Default)]
struct Uses {
    /// With the signal open.
    open: Vec<Use>,
    /// In its handler.
    used_in: Vec<Use>,
}

/// What a handler's acquisition meets in a thread that it interrupts.
struct Meeting {
    open: Use,
    used_in: Use,
    grade: Grade,
    comes: InHandler,
}

/// Locks of one process that a handler takes and that are held with its signal open.
pub fn find(view: &ProcessView<'_, '_>, notes: &mut Vec<Note>) -> Vec<Candidate> {
    let model = view.model;
    if model.trie.interrupts_cut() {
        notes.push(Note::SearchCut(Search::Handlers));
    }
    let mut all: BTreeMap<(u32, u32), Uses> = BTreeMap::new();
    for (_, row) in model.ledger.rows::<Usage>() {
        if model.is_handed_over(row.inst) {
            continue;
        }
        let group = model.classes.group_of(row.class);
        let Some(&node) = model.trie.node(row.node).filter(|node| node.class == row.class) else {
            continue;
        };
        let thread = model.order.thread(row.segment).unwrap_or(0);
        let uses = all.entry((group, row.signal)).or_default();
        let sides = match row.bits {
            usage::USED_IN | usage::USED_IN_READ => &mut uses.used_in,
            usage::OPEN | usage::OPEN_READ => &mut uses.open,
            _ => continue,
        };
        sides.push(Use { row, node, thread });
    }
    let judge = Judge::new(model);
    let meetings =
        all.iter().filter_map(|((_, signal), uses)| Some((*signal, worst(model, &judge, uses)?)));
    meetings.map(|(signal, meeting)| candidate(view, signal, &meeting)).collect()
}

/// The most serious meeting of one class and signal.
fn worst(model: &Model<'_>, judge: &Judge<'_, '_>, uses: &Uses) -> Option<Meeting> {
    let mut by_lock: HashMap<u32, Vec<&Use>> = HashMap::new();
    for used in &uses.used_in {
        by_lock.entry(used.row.inst).or_default().push(used);
    }
    let of_lock = |open: &Use| by_lock.get(&open.row.inst).map_or(&[][..], Vec::as_slice);
    let of_class = uses.open.iter().flat_map(|o| uses.used_in.iter().map(move |used| (o, used)));
    // Those of one lock first: others are only of interest where there are none.
    let pairs =
        uses.open.iter().flat_map(|open| of_lock(open).iter().map(move |used| (open, *used)));
    pairs
        .take(MOST_PAIRS)
        .chain(of_class.take(MOST_PAIRS))
        .filter_map(|(open, used)| {
            let (grade, comes) = outcome(model, judge, open, used)?;
            let (grade, comes) = match grade {
                Grade::Likely if may_be_its_threads(model, uses, open, used) => {
                    (Grade::Possible, InHandler::OneThreadAlone)
                }
                _ => (grade, comes),
            };
            Some(Meeting { open: *open, used_in: *used, grade, comes })
        })
        .min_by_key(|meeting| (meeting.grade, meeting.open.row.inst != meeting.used_in.row.inst))
}

/// What comes of a handler that acquires as in `used` in a thread that holds as in `open`.
fn outcome(
    model: &Model<'_>,
    judge: &Judge<'_, '_>,
    open: &Use,
    used: &Use,
) -> Option<(Grade, InHandler)> {
    let kind = model.classes.kind(used.row.class);
    let held_shared = is_read(open.node.mode);
    if loader::is_loaders(model, used.row.class) {
        return None;
    }
    if held_shared
        && !excludes(used.node.mode, open.node.mode)
        && model.reads_freely(used.row.class, used.node.mode)
    {
        return None;
    }
    let possible = |again: Again| (Grade::Possible, InHandler::Again(again));
    Some(match kind {
        lock_kind::RECURSIVE => (Grade::Possible, InHandler::Recursive),
        lock_kind::ERRORCHECK => possible(Again::ErrorCheck),
        lock_kind::RWLOCK | lock_kind::RWLOCK_WRITER if !held_shared => {
            possible(Again::HeldForWriting)
        }
        _ if used.node.mode & mode::TIMED != 0 => possible(Again::Timeout),
        _ if open.row.inst != used.row.inst => (Grade::Possible, InHandler::OtherLock),
        _ if gate(model, open, used) => (Grade::Possible, InHandler::TriedGate),
        _ if !excludes(used.node.mode, open.node.mode) => {
            let context = Context { acquired: used.row.node, held: open.row.node };
            let acquisition =
                Acquisition { context, segment: open.row.segment, thread: open.thread };
            let read = Node { inst: used.row.inst, ..used.node };
            let (grade, again) = behind_writer(model, judge, &read, &acquisition);
            (grade, InHandler::Again(again))
        }
        _ => (Grade::Likely, InHandler::Again(Again::Blocks)),
    })
}

/// Whether the lock may be one that the handler finds by the thread that it runs in: one of several of its class, no variable, and
/// the handler took it in one thread alone, which is not the holder.
fn may_be_its_threads(model: &Model<'_>, uses: &Uses, open: &Use, used: &Use) -> bool {
    let group = model.classes.group(model.classes.group_of(used.row.class));
    let same_lock = |other: &&Use| other.row.inst == used.row.inst;
    group.locks > 1
        && group.origin != LockOrigin::Static
        && open.thread != used.thread
        && uses.used_in.iter().filter(same_lock).all(|other| other.thread == used.thread)
}

/// The holder took it within a lock that the handler tries for first: then the handler does not get
/// there. (Only by what was recorded, which is the first time of each.)
fn gate(model: &Model<'_>, open: &Use, used: &Use) -> bool {
    let tried = |node: &Node| node.mode & mode::TRY != 0 && node.inst != 0;
    model.trie.held(used.row.node).filter(|(_, node)| tried(node)).any(|(_, tried)| {
        let mut held = model.trie.held(open.row.node);
        held.any(|(_, node)| node.inst == tried.inst && excludes(tried.mode, node.mode))
    })
}

fn candidate(view: &ProcessView<'_, '_>, signal: u32, meeting: &Meeting) -> Candidate {
    let model = view.model;
    let Meeting { open, used_in, grade, comes } = meeting;
    let same = open.row.inst == used_in.row.inst;
    let level = if same { Level::Instance } else { Level::Class };
    let lock = LockRef {
        class: used_in.row.class,
        inst: if same { used_in.row.inst } else { 0 },
        row: if same { used_in.node.lock } else { 0 },
    };
    let involved = view.involved(level, vec![lock]);
    let [holder, handler] = [open, used_in].map(|usage| model.thread(usage.thread));
    let mut evidence = vec![
        Evidence::Handler(handler::Evidence::TakenOpen { signal }),
        Evidence::Handler(handler::Evidence::TakenInHandler { signal, thread: handler }),
        Evidence::Handler(handler::Evidence::InHandler(comes.clone())),
    ];
    if *grade == Grade::Likely && open.thread != used_in.thread {
        evidence.push(Evidence::Handler(handler::Evidence::AnyThreadRunsHandlers));
    }
    let held = view.held(&involved, open.node.parent);
    let place = |node: &Node| model.place(node.stack);
    let key = format!(
        "inconsistent\n{}\t{}\t{}",
        involved.infos[0].class.text,
        place(&open.node),
        place(&used_in.node)
    );
    let mut interrupted: Vec<HeldLock> = held.clone();
    interrupted.push(HeldLock {
        lock: Some(0),
        name: involved.names[0].clone(),
        stack: model.stack(open.node.stack),
    });
    let acquires =
        |usage: &Use| Action::acquires(model.classes.kind(usage.row.class), usage.node.mode);
    let finding = Finding {
        kind: Kind::InconsistentState,
        grade: *grade,
        details: Details::Order(OrderFault {
            fault: Fault::Handler(handler::Fault::TakenInHandler { signal }),
            evidence,
            remedies: remedies(signal, 0),
        }),
        steps: vec![
            Step {
                thread: holder.clone(),
                lock: 0,
                action: acquires(open),
                held,
                stack: model.stack(open.node.stack),
            },
            Step {
                thread: holder,
                lock: 0,
                action: Action::in_handler(used_in.node.mode),
                held: interrupted,
                stack: model.stack(used_in.node.stack),
            },
        ],
        locks: involved.infos,
        pid: model.ledger.header().pid,
        process: None,
        origins: Vec::new(),
        confirmation: None,
        also: 0,
    };
    let insts = if same { vec![used_in.row.inst] } else { Vec::new() };
    Candidate { finding, key, insts, classes: view.classes(&[lock]) }
}

/// The signal in whose handler the waiting of `row` is done, if it is in one.
pub fn handler_of(model: &Model<'_>, row: &Row) -> Option<u32> {
    let is_it = |usage: &Usage| {
        let node = model.trie.node(usage.node);
        usage.bits & (usage::USED_IN | usage::USED_IN_READ) != 0
            && usage.inst == row.inst
            && node.is_some_and(|node| node.stack == row.stack)
    };
    let mut usages = model.ledger.rows::<Usage>().map(|(_, usage)| usage);
    usages.find(is_it).map(|usage| usage.signal)
}

/// What to do about a handler of `signal` that takes what it may interrupt the holder of: `lock` of
/// the finding.
pub fn remedies(signal: u32, lock: usize) -> Vec<Remedy> {
    vec![
        Remedy::Handler(handler::Remedy::BlockSignal { signal, lock }),
        Remedy::Handler(handler::Remedy::LessInHandler),
    ]
}

/// Describes a cycle by what handlers do, if they take part in it; false if none does.
pub fn tell(
    view: &ProcessView<'_, '_>,
    acquisitions: &[Acquisition],
    grade: Grade,
    what: &mut OrderFault,
) -> bool {
    let signal = |acquisition: &Acquisition| view.model.trie.signal(acquisition.context.acquired);
    let signals = acquisitions.iter().map(signal).enumerate();
    let steps: Vec<(usize, u32)> = signals.filter_map(|(step, s)| Some((step, s?))).collect();
    what.fault = match (&steps[..], acquisitions.len()) {
        ([], _) => return false,
        (&[(step, signal)], 2) => Fault::Handler(handler::Fault::PairWithHandler { step, signal }),
        (steps, _) => Fault::Handler(handler::Fault::CycleWithHandlers {
            signals: steps.iter().map(|step| step.1).collect(),
        }),
    };
    let opens = steps
        .iter()
        .map(|&(step, signal)| Evidence::Handler(handler::Evidence::OpenAndTaken { step, signal }));
    what.evidence.splice(0..0, opens);
    if grade <= Grade::Possible {
        what.remedies = steps.iter().flat_map(|&(step, signal)| remedies(signal, step)).collect();
    }
    true
}
