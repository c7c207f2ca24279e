//! `circular-dependency`: locks taken in orders that form a cycle.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use lockwright_ledger::rows::{Node, Sync, excludes, sync_kind};

use super::{annotated, joins, lined_up, loader, onces, semaphores, signals};
use crate::finding::coverage::{Note, Search};
use crate::finding::order::cycle::OrderedBy;
use crate::finding::order::{Evidence, Fault, OrderFault, Remedy, cycle, doubt, kept_apart};
use crate::finding::{Details, Finding, Grade, Instances, Kind};
use crate::lockdep::judge::least_obstacle::Floors;
use crate::lockdep::judge::{Judge, Obstacle, Rank, Shape, Verdict, shapes};
use crate::lockdep::search::budget::Budget;
use crate::lockdep::search::cycles::{Limits, MOST_COMPARED, Visitor, Work, shortest_first};
use crate::lockdep::search::graph::{Part, parts};
use crate::model::{HandOn, LockRef, Model, thread_of};
use crate::progress::{Progress, Stage};
use crate::view::candidate::{Candidate, ring};
use crate::view::occurrence::{Acquisition, Level};
use crate::view::process_view::{InvolvedLocks, ProcessView, reference};

/// Edges looked at in one part to learn which locks lie on cycles of which length.
const SURVEY: u64 = 50_000_000;
/// Edges walked to visit the cycles of one part.
const WALK: u64 = 20_000_000;
/// Cycles judged in one part.
const MOST_JUDGED: usize = 50_000;
/// Cycles judged in a row of which none was worth a finding. In a dense part there are more than
/// one could ever look at, and the long ones say little that the short ones do not.
const MOST_FRUITLESS: usize = 5_000;
/// Cycles met in one part, of which most tell nothing new.
const MOST_VISITED: usize = 1_000_000;
/// Cycles with places of their own kept of one part.
const MOST_KEPT: usize = 2_000;

/// All cycles of one process at one level; says in `notes` where a search was cut short.
pub fn find(
    view: &ProcessView<'_, '_>,
    level: Level,
    progress: &dyn Progress,
    notes: &mut Vec<Note>,
) -> Vec<Candidate> {
    let (stage, searched) = match level {
        Level::Instance => (Stage::LockCycles, Search::LockCycles),
        Level::Class => (Stage::ClassCycles, Search::ClassCycles),
    };
    let (parts, whole) = parts(view.model, level);
    progress.stage(stage, parts.len() as u64);
    let judge = Judge::new(view.model);
    let mut cut = !whole;
    let mut candidates = Vec::new();
    for part in &parts {
        let (found, whole) =
            search(&judge, view.model, (part, level), view.instances, &mut Work::default());
        cut |= !whole;
        candidates.extend(found.into_iter().map(|found| found.candidate(view, level, part)));
        progress.advance(1);
    }
    progress.looked(judge.looked());
    if cut {
        notes.push(Note::SearchCut(searched));
    }
    candidates
}

/// The pairs of merged classes, held and acquired, that the cycles found at a level are made of,
/// each with the most serious grade.
pub fn graded_pairs(model: &Model<'_>, level: Level) -> HashMap<(u32, u32), Grade> {
    let judge = Judge::new(model);
    let mut pairs = HashMap::new();
    for part in &parts(model, level).0 {
        let found = search(&judge, model, (part, level), Instances::Folded, &mut Work::default()).0;
        for Found { verdict, is_lined_up, .. } in found {
            let lock = |id| model.trie.node(id).map(reference).unwrap_or_default();
            let contexts = verdict.acquisitions.iter().map(|acquisition| acquisition.context);
            let refs: Vec<LockRef> = contexts.clone().map(|context| lock(context.held)).collect();
            let grade = grade(level, &verdict, is_lined_up);
            let grade = annotated::Contexts::of(model, &refs).grade(grade);
            for context in contexts {
                let group = |id| model.classes.group_of(lock(id).class);
                let pair = (group(context.held), group(context.acquired));
                let known = pairs.entry(pair).or_insert(grade);
                *known = grade.min(*known);
            }
        }
    }
    pairs
}

/// What it takes to search all cycles of a process, at both levels.
pub fn work(model: &Model<'_>) -> Work {
    let judge = Judge::new(model);
    let mut work = Work::default();
    for level in [Level::Instance, Level::Class] {
        for part in &parts(model, level).0 {
            search(&judge, model, (part, level), Instances::Folded, &mut work);
        }
    }
    work
}

/// The cycles of one part, and whether all of it was looked at.
fn search(
    judge: &Judge<'_, '_>,
    model: &Model<'_>,
    (part, level): (&Part, Level),
    instances: Instances,
    work: &mut Work,
) -> (Vec<Found>, bool) {
    let threads = threads(model, part);
    let mut collector = Collector::new(model, (part, level), judge, threads, instances);
    let (mut survey, mut walk) = (Budget::new(SURVEY), Budget::new(WALK));
    let mut limits = Limits { survey: &mut survey, walk: &mut walk, work };
    shortest_first(part, threads, &mut limits, &mut collector);
    let cut = collector.cut || collector.is_done();
    (collector.found, !(cut || survey.is_spent_out() || walk.is_spent_out()))
}

/// How many threads took part in a part's dependencies; unlimited where not all were recorded.
fn threads(model: &Model<'_>, part: &Part) -> u32 {
    let mut threads = HashSet::new();
    for context in part.all_contexts() {
        if model.trie.node(context.acquired).is_none_or(|node| node.folded != 0) {
            return u32::MAX;
        }
        let segments = model.trie.segments(context.acquired).iter();
        threads.extend(segments.map(|&segment| model.order.thread(segment)));
    }
    if threads.contains(&None) { u32::MAX } else { threads.len() as u32 }
}

/// A cycle that is worth a finding.
struct Found {
    verdict: Verdict,
    edges: Vec<usize>,
    /// It is of classes, and the run could have lined their locks up.
    is_lined_up: bool,
    also: u64,
}

/// Places of a cycle before anything is symbolised: class, and call sites of both acquisitions.
type RawPlace = (u32, u64, u64);

/// Judges the cycles of one part and folds those that are the same.
struct Collector<'c, 'm, 'a> {
    model: &'m Model<'a>,
    part: &'c Part,
    level: Level,
    judge: &'c Judge<'m, 'a>,
    instances: Instances,
    shapes: RefCell<HashMap<usize, Rc<[Shape]>>>,
    floors: Floors<'m, 'a>,
    /// Threads that took part.
    threads: u32,
    found: Vec<Found>,
    by_place: HashMap<Vec<RawPlace>, usize>,
    /// By its least lock: the locks of a cycle of three or more, sorted, and what it lacks.
    seen: HashMap<u32, Vec<(Vec<u32>, Rank)>>,
    /// Pairs of locks that are a cycle by themselves, and what it lacks.
    pairs: HashMap<(u32, u32), Rank>,
    visited: usize,
    judged: usize,
    fruitless: usize,
    cut: bool,
}

impl<'c, 'm, 'a> Collector<'c, 'm, 'a> {
    fn new(
        model: &'m Model<'a>,
        (part, level): (&'c Part, Level),
        judge: &'c Judge<'m, 'a>,
        threads: u32,
        instances: Instances,
    ) -> Self {
        Self {
            model,
            part,
            level,
            judge,
            instances,
            shapes: RefCell::default(),
            floors: Floors::new(model),
            threads,
            found: Vec::new(),
            by_place: HashMap::new(),
            seen: HashMap::new(),
            pairs: HashMap::new(),
            visited: 0,
            judged: 0,
            fruitless: 0,
            cut: false,
        }
    }

    fn shapes(&self, edge: usize) -> Rc<[Shape]> {
        let (model, part) = (self.model, self.part);
        let make = || shapes(model, part.contexts(edge)).into();
        Rc::clone(self.shapes.borrow_mut().entry(edge).or_insert_with(make))
    }

    /// The least that a cycle with these edges lacks.
    fn floor(&self, edges: &[usize]) -> Rank {
        let edges = &edges[..edges.len().min(MOST_COMPARED as usize)];
        self.floors.of(edges, |edge| self.shapes(edge))
    }

    /// Whether a cycle of fewer locks, all among these, is no less serious.
    fn is_covered(&self, locks: &[u32], rank: Rank) -> bool {
        if locks.len() < 3 {
            return false;
        }
        let is_pair = |(i, &a): (usize, &u32)| {
            locks[i + 1..].iter().any(|&b| self.pairs.get(&(a, b)).is_some_and(|&it| it <= rank))
        };
        locks.iter().enumerate().any(is_pair)
            || locks.iter().filter_map(|least| self.seen.get(least)).flatten().any(
                |(fewer, other)| {
                    fewer.len() < locks.len()
                        && *other <= rank
                        && fewer.iter().all(|lock| locks.binary_search(lock).is_ok())
                },
            )
    }

    /// The program says that these two may be nested.
    fn may_nest(&self, acquisition: &Acquisition) -> bool {
        let (trie, classes) = (&self.model.trie, &self.model.classes);
        let [held, acquired] =
            [acquisition.context.held, acquisition.context.acquired].map(|id| trie.node(id));
        held.zip(acquired).is_some_and(|(held, acquired)| {
            classes.group_of(held.class) == classes.group_of(acquired.class)
                && annotated::may_nest(self.model, acquisition.context.held, acquired)
        })
    }

    /// The verdict on a cycle of two classes that a run could have lined up.
    fn lined_up(&self, edges: &[usize], verdict: &Verdict) -> Option<Verdict> {
        let &[first, second] = edges else { return None };
        if self.level == Level::Instance || verdict.obstacle != Obstacle::None || verdict.cut {
            return None;
        }
        let steps = [first, second].map(|edge| self.part.contexts(edge));
        lined_up::verdict(self.model, self.judge, steps)
    }

    fn raw_places(&self, acquisitions: &[Acquisition]) -> Vec<RawPlace> {
        let node = |id| self.model.trie.node(id).copied().unwrap_or_default();
        let places: Vec<RawPlace> = acquisitions
            .iter()
            .map(|acquisition| {
                let (held, acquired) =
                    (node(acquisition.context.held), node(acquisition.context.acquired));
                (self.model.classes.group_of(held.class), held.site, acquired.site)
            })
            .collect();
        ring(&places)
    }
}

impl Visitor for Collector<'_, '_, '_> {
    fn cycle(&mut self, edges: &[usize]) {
        let mut locks: Vec<u32> =
            edges.iter().map(|&edge| self.part.locks[self.part.to[edge] as usize]).collect();
        locks.sort_unstable();
        self.visited += 1;
        let floor = self.floor(edges);
        if self.is_covered(&locks, floor) {
            return;
        }
        self.judged += 1;
        self.fruitless += 1;
        let shapes: Vec<Rc<[Shape]>> = edges.iter().map(|&edge| self.shapes(edge)).collect();
        let shapes: Vec<&[Shape]> = shapes.iter().map(|shapes| &**shapes).collect();
        let Some(verdict) = self.judge.judge(&shapes, floor) else { return };
        if verdict.acquisitions.iter().all(|acquisition| self.may_nest(acquisition)) {
            return;
        }
        let rank = verdict.obstacle.rank();
        if self.is_covered(&locks, rank) {
            return;
        }
        self.fruitless = 0;
        match locks[..] {
            [a, b] => {
                let known = self.pairs.entry((a, b)).or_insert(rank);
                *known = rank.min(*known);
            }
            _ => self.seen.entry(locks[0]).or_default().push((locks, rank)),
        }
        let lined_up = self.lined_up(edges, &verdict);
        let is_lined_up = lined_up.is_some();
        let verdict = lined_up.unwrap_or(verdict);
        let places = self.raw_places(&verdict.acquisitions);
        let edges = edges.to_vec();
        match self.by_place.get(&places).filter(|_| self.instances == Instances::Folded) {
            Some(&at) => {
                let found = &mut self.found[at];
                found.also += 1;
                let by = verdict.obstacle.compare(found.verdict.obstacle);
                if by.then(found.is_lined_up.cmp(&is_lined_up)).is_lt() {
                    *found = Found { verdict, edges, is_lined_up, also: found.also };
                }
            }
            None if self.found.len() == MOST_KEPT => self.cut = true,
            None => {
                self.by_place.insert(places, self.found.len());
                self.found.push(Found { verdict, edges, is_lined_up, also: 0 });
            }
        }
    }

    fn is_done(&self) -> bool {
        self.judged >= MOST_JUDGED
            || self.fruitless >= MOST_FRUITLESS
            || self.visited >= MOST_VISITED
    }

    fn explained(
        &self,
        lock: u32,
        before: impl Iterator<Item = u32>,
        edges: &[usize],
        length: u32,
    ) -> bool {
        let pair = |other: u32| self.pairs.get(&(lock.min(other), lock.max(other)));
        before.filter_map(pair).min().is_some_and(|&rank| {
            // With more locks than threads, no cycle is more serious than any of its pairs.
            length > self.threads || rank == Obstacle::None.rank() || rank <= self.floor(edges)
        })
    }
}

/// Grade of a verdict on a cycle of locks or of classes, whose locks the run could have lined up or not.
pub fn grade(level: Level, verdict: &Verdict, is_lined_up: bool) -> Grade {
    let grade = match verdict.obstacle {
        Obstacle::None if level == Level::Instance || is_lined_up => Grade::Likely,
        Obstacle::None
        | Obstacle::Timeout(_)
        | Obstacle::Unrecorded(_)
        | Obstacle::Truncated(_)
        | Obstacle::Torn
        | Obstacle::Late(_)
        | Obstacle::Between(_)
        | Obstacle::HandedOn(..)
        | Obstacle::Doubt(..) => Grade::Possible,
        Obstacle::Guard(..)
        | Obstacle::Seats(_)
        | Obstacle::Enclosed(..)
        | Obstacle::Over(..)
        | Obstacle::Precedence(..) => Grade::Guarded,
        Obstacle::New(_) | Obstacle::Order(..) | Obstacle::Scope(..) | Obstacle::ScopeOver(..) => {
            Grade::Ordered
        }
        Obstacle::SameThread(..) => Grade::SingleThread,
    };
    // What was not looked at to the end is not excluded.
    if verdict.cut { grade.min(Grade::Possible) } else { grade }
}

impl Found {
    fn candidate(mut self, view: &ProcessView<'_, '_>, level: Level, part: &Part) -> Candidate {
        self.begin_with_first_thread(view.model);
        let Self { verdict, edges, is_lined_up, also } = &self;
        let acquisitions = &verdict.acquisitions;
        let n = acquisitions.len();
        let refs: Vec<_> =
            acquisitions.iter().map(|acquisition| view.lock_of(acquisition.context.held)).collect();
        let classes = view.classes(&refs);
        let mut insts: Vec<u32> = match level {
            Level::Instance => refs.iter().map(|lock| lock.inst).collect(),
            Level::Class => Vec::new(),
        };
        insts.retain(|&inst| thread_of(inst).is_none());
        insts.sort_unstable();
        let joins = joins::Ends::of(view.model, &refs);
        let contexts = annotated::Contexts::of(view.model, &refs);
        let semaphores = semaphores::among(view.model, &refs);
        let loader = loader::place(view.model, &refs);
        let once = onces::place(view.model, &refs);
        let involved = view.involved(level, refs);
        let grade = contexts.grade(grade(level, verdict, *is_lined_up));
        let (grade, why_less) = joins.grade(view.model, acquisitions, grade);
        let signatures: Vec<String> =
            acquisitions.iter().map(|p| view.signature(p.context)).collect();
        let mut what = OrderFault {
            fault: Fault::Cycle,
            evidence: evidence(view, level, verdict, *is_lined_up),
            remedies: remedies(view, &involved, verdict, grade, |i| part.contexts(edges[i]).len()),
        };
        contexts.tell(grade, &mut what);
        joins.tell(&mut what);
        joins.tell_of_takers(view.model, acquisitions, &mut what);
        if let Some(loader) = loader {
            loader::tell(loader, n, &mut what);
        }
        if let Some(once) = once {
            onces::tell(once, n, &mut what);
        }
        what.evidence.extend(why_less);
        what.evidence.extend(semaphores::why_locks(semaphores));
        let kind = match signals::tell(view, acquisitions, grade, &mut what) {
            true => Kind::InconsistentState,
            false => joins.kind(),
        };
        let step = |(i, acquisition)| view.step(&involved, acquisition, (i + 1) % n);
        let finding = Finding {
            kind,
            grade,
            details: Details::Order(what),
            steps: acquisitions.iter().enumerate().map(step).collect(),
            locks: involved.infos,
            pid: view.model.ledger.header().pid,
            process: None,
            origins: Vec::new(),
            confirmation: None,
            also: *also,
        };
        let key = format!("{:?}\n{}", finding.kind, ring(&signatures).join("\n"));
        Candidate { finding, key, insts, classes }
    }

    /// Turns the ring so that the thread created first has the first step.
    fn begin_with_first_thread(&mut self, model: &Model<'_>) {
        let acquisitions = &mut self.verdict.acquisitions;
        let n = acquisitions.len();
        let first = |i: &usize| {
            (
                model.number(acquisitions[*i].thread),
                acquisitions[*i].segment,
                acquisitions[*i].context,
            )
        };
        let Some(turn) = (0..n).min_by_key(first) else { return };
        acquisitions.rotate_left(turn);
        self.edges.rotate_left(turn);
        let turned = |i: usize| (i + n - turn) % n;
        self.verdict.obstacle = match self.verdict.obstacle {
            Obstacle::None => Obstacle::None,
            Obstacle::Timeout(i) => Obstacle::Timeout(turned(i)),
            Obstacle::Unrecorded(i) => Obstacle::Unrecorded(turned(i)),
            Obstacle::Truncated(i) => Obstacle::Truncated(turned(i)),
            Obstacle::Torn => Obstacle::Torn,
            Obstacle::Late(i) => Obstacle::Late(turned(i)),
            Obstacle::Between(i) => Obstacle::Between(turned(i)),
            Obstacle::HandedOn(i, j, by) => Obstacle::HandedOn(turned(i), turned(j), by),
            Obstacle::Doubt(i, j, node) => Obstacle::Doubt(turned(i), turned(j), node),
            Obstacle::Guard(i, j, node) => Obstacle::Guard(turned(i), turned(j), node),
            Obstacle::Seats(by) => Obstacle::Seats(by),
            Obstacle::Enclosed(i, j, by) => Obstacle::Enclosed(turned(i), turned(j), by),
            Obstacle::Over(i, j, by) => Obstacle::Over(turned(i), turned(j), by),
            Obstacle::Precedence(i, j, held) => Obstacle::Precedence(turned(i), turned(j), held),
            Obstacle::New(i) => Obstacle::New(turned(i)),
            Obstacle::Order(i, j) => Obstacle::Order(turned(i), turned(j)),
            Obstacle::Scope(i, j) => Obstacle::Scope(turned(i), turned(j)),
            Obstacle::ScopeOver(i, j) => Obstacle::ScopeOver(turned(i), turned(j)),
            Obstacle::SameThread(i, j) => Obstacle::SameThread(turned(i), turned(j)),
        };
    }
}

/// The recorded events of this process that could have ordered threads.
pub fn orders_threads(model: &Model<'_>) -> Vec<OrderedBy> {
    let has = |kind| model.ledger.rows::<Sync>().any(|(_, sync)| sync.kind == kind);
    let mut all = vec![OrderedBy::Creation, OrderedBy::Join];
    all.extend(has(sync_kind::BARRIER).then_some(OrderedBy::Barrier));
    all.extend(has(sync_kind::SEMAPHORE).then_some(OrderedBy::Post));
    all
}

/// The first of two steps came before the second by a signal that need not have been waited for.
pub fn handed_on(model: &Model<'_>, steps: [usize; 2], signal: HandOn) -> Evidence {
    Evidence::Doubt(doubt::Evidence::HandedOn {
        steps,
        threads: [signal.from, signal.to].map(|thread| model.thread(thread)),
        place: model.short_place(signal.stack),
    })
}

/// Why the grade is what it is.
pub fn evidence(
    view: &ProcessView<'_, '_>,
    level: Level,
    verdict: &Verdict,
    is_lined_up: bool,
) -> Vec<Evidence> {
    let model = view.model;
    let acquisitions = &verdict.acquisitions;
    let n = acquisitions.len();
    let mut all = Vec::new();
    all.extend((level == Level::Class).then_some(Evidence::Cycle(cycle::Evidence::ByClass)));
    all.extend(is_lined_up.then_some(Evidence::Cycle(cycle::Evidence::Alike)));
    match verdict.obstacle {
        Obstacle::None => all.extend([
            match level {
                Level::Instance => Evidence::Cycle(cycle::Evidence::SameLocks),
                Level::Class => Evidence::Cycle(cycle::Evidence::TakenByThreads),
            },
            Evidence::Cycle(cycle::Evidence::Unordered(orders_threads(model))),
            Evidence::Cycle(cycle::Evidence::NoGate),
        ]),
        Obstacle::Timeout(step) => all.push(Evidence::Doubt(doubt::Evidence::Timeout { step })),
        Obstacle::Unrecorded(step) => {
            all.push(Evidence::Doubt(doubt::Evidence::MoreThreads { step }))
        }
        Obstacle::Truncated(step) => {
            all.push(Evidence::Doubt(doubt::Evidence::MoreLocksHeld { step }))
        }
        Obstacle::Torn => all.push(Evidence::Doubt(doubt::Evidence::OrderUnread)),
        Obstacle::Late(step) => {
            all.push(Evidence::Doubt(doubt::Evidence::OrderUnrecorded { step }))
        }
        Obstacle::Between(step) => {
            all.push(Evidence::Doubt(doubt::Evidence::NoWriter { lock: (step + 1) % n }))
        }
        Obstacle::HandedOn(early, late, signal) => {
            all.push(handed_on(model, [early, late], signal));
        }
        Obstacle::Doubt(i, j, node) => {
            let class = LockRef { inst: 0, ..view.lock_of(node) };
            all.push(Evidence::Doubt(doubt::Evidence::DoubtfulGate {
                steps: [i, j],
                class: model.name(class),
            }));
        }
        Obstacle::Guard(i, j, node) => {
            all.push(Evidence::KeptApart(kept_apart::Evidence::Gate {
                steps: [i, j],
                gate: model.name(view.lock_of(node)),
            }));
        }
        Obstacle::Seats(by) => all.push(Evidence::KeptApart(kept_apart::Evidence::Seats {
            semaphore: model.name(view.lock_of(by.node)),
            seats: by.seats,
        })),
        Obstacle::Enclosed(i, j, by) => {
            all.push(Evidence::KeptApart(kept_apart::Evidence::Enclosed {
                steps: [i, j],
                gate: model.name(by.lock),
                holder: model.thread(by.holder),
            }))
        }
        Obstacle::Over(i, j, by) => {
            all.push(Evidence::KeptApart(kept_apart::Evidence::OverBefore {
                steps: [i, j],
                lock: model.name(by.lock),
                holder: model.thread(by.holder),
            }))
        }
        Obstacle::Precedence(i, j, held) => {
            all.push(Evidence::KeptApart(kept_apart::Evidence::EachBefore {
                steps: [i, j],
                locks: held.map(|id| model.name(view.lock_of(id))),
            }))
        }
        Obstacle::New(step) => {
            let lock = model.name(view.lock_of(acquisitions[step].context.held));
            all.push(Evidence::KeptApart(kept_apart::Evidence::New { step, lock }));
        }
        Obstacle::Order(early, late) => {
            let by = model.order.crossing(acquisitions[early].segment, acquisitions[late].segment);
            let by = by.map(|crossing| crossing.named(model));
            all.push(Evidence::KeptApart(kept_apart::Evidence::Ordered {
                steps: [early, late],
                by,
            }));
        }
        Obstacle::Scope(inside, outside) => {
            all.push(Evidence::KeptApart(kept_apart::Evidence::Scoped { inside, outside }));
        }
        Obstacle::ScopeOver(early, late) => {
            all.push(Evidence::KeptApart(kept_apart::Evidence::ScopeOver { early, late }));
        }
        Obstacle::SameThread(step, _) => {
            let is_same = |other: &&Acquisition| other.thread == acquisitions[step].thread;
            let steps = acquisitions.iter().filter(is_same).count();
            all.push(Evidence::KeptApart(kept_apart::Evidence::OneThread { step, steps }));
        }
    }
    all.extend(
        reads_meet(model, acquisitions).then_some(Evidence::Cycle(cycle::Evidence::ReadersMeet)),
    );
    all.extend(verdict.cut.then_some(Evidence::Cycle(cycle::Evidence::SearchCut)));
    all
}

/// Whether a shared acquisition meets a shared holder in the ring, and may wait for it.
fn reads_meet(model: &Model<'_>, acquisitions: &[Acquisition]) -> bool {
    let waits = |node: &Node| {
        model.classes.has_readers(node.class) && !model.reads_freely(node.class, node.mode)
    };
    let next = acquisitions.iter().cycle().skip(1);
    acquisitions.iter().zip(next).any(|(a, b)| {
        let nodes = (model.trie.node(a.context.acquired), model.trie.node(b.context.held));
        let (Some(node), Some(held)) = nodes else { return false };
        waits(node) && !excludes(node.mode, held.mode)
    })
}

/// What to do. `seen(i)` is how many contexts took the order of step `i`.
fn remedies(
    view: &ProcessView<'_, '_>,
    involved: &InvolvedLocks,
    verdict: &Verdict,
    grade: Grade,
    seen: impl Fn(usize) -> usize,
) -> Vec<Remedy> {
    match (grade, verdict.obstacle) {
        (Grade::Guarded, Obstacle::Guard(_, _, node)) => {
            vec![Remedy::KeptApart(kept_apart::Remedy::KeepGate(
                view.model.name(view.lock_of(node)),
            ))]
        }
        (Grade::Guarded, Obstacle::Seats(by)) => {
            vec![Remedy::KeptApart(kept_apart::Remedy::KeepSeats {
                semaphore: view.model.name(view.lock_of(by.node)),
                seats: by.seats,
            })]
        }
        (Grade::Guarded, Obstacle::Enclosed(_, _, by)) => {
            vec![Remedy::KeptApart(kept_apart::Remedy::KeepEnclosing(view.model.name(by.lock)))]
        }
        (Grade::Guarded, Obstacle::Over(..) | Obstacle::Precedence(..)) => {
            vec![Remedy::KeptApart(kept_apart::Remedy::KeepOrdered)]
        }
        (Grade::Ordered, Obstacle::New(i)) => {
            vec![Remedy::KeptApart(kept_apart::Remedy::KeepNew(involved.names[i].clone()))]
        }
        (Grade::Ordered, _) => vec![Remedy::KeptApart(kept_apart::Remedy::KeepOrdered)],
        (Grade::SingleThread, _) => vec![Remedy::KeptApart(kept_apart::Remedy::KeepSingleThread)],
        _ => {
            let mut all = vec![
                other_order(view, involved, verdict, seen),
                Remedy::Cycle(cycle::Remedy::FurtherLock),
            ];
            all.extend(
                uses_std_locks(view, verdict).then_some(Remedy::Cycle(cycle::Remedy::ScopedLock)),
            );
            all
        }
    }
}

/// The order to change: that which fewer places rely on is the cheaper one.
fn other_order(
    view: &ProcessView<'_, '_>,
    involved: &InvolvedLocks,
    verdict: &Verdict,
    seen: impl Fn(usize) -> usize,
) -> Remedy {
    let n = verdict.acquisitions.len();
    let rarest = (0..n).rev().min_by_key(|&i| seen(i)).unwrap_or(0);
    let name = |i: usize| involved.names[i % n].clone();
    match view.place(verdict.acquisitions[rarest].context.acquired) {
        // The same code takes them in all orders: the locks need an order of their own.
        Some(place) if is_one_place(view.model, verdict) => {
            Remedy::Cycle(cycle::Remedy::OrderOfTheirOwn { place })
        }
        place => Remedy::Cycle(cycle::Remedy::TakeBefore {
            first: name(rarest + 1),
            second: name(rarest),
            place,
        }),
    }
}

/// Each step of the cycle is taken by the same two calls, with the same calls around them.
fn is_one_place(model: &Model<'_>, verdict: &Verdict) -> bool {
    let node = |id| model.trie.node(id).copied().unwrap_or_default();
    let mut places = verdict.acquisitions.iter().map(|acquisition| {
        let [held, acquired] = [acquisition.context.held, acquisition.context.acquired].map(node);
        (held.site, acquired.site)
    });
    places.next().is_some_and(|first| first.0 != 0 && places.all(|place| place == first))
}

fn uses_std_locks(view: &ProcessView<'_, '_>, verdict: &Verdict) -> bool {
    verdict.acquisitions.iter().any(|acquisition| {
        let node = view.model.trie.node(acquisition.context.acquired);
        let stack = view.model.symbols.stack(node.map_or(0, |node| node.stack));
        let is_std =
            |name: &String| name.contains("std::mutex") || name.contains("std::lock_guard");
        stack.iter().filter_map(|frame| frame.function.as_ref()).any(is_std)
    })
}
