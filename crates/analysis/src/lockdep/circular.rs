//! `circular-dependency`: locks taken in orders that form a cycle.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use lockwright_ledger::rows::{Sync, sync_kind};

use super::annotated;
use super::budget::Budget;
use super::candidate::{Candidate, ring};
use super::cycles::{Limits, MOST_COMPARED, Visitor, shortest_first};
use super::floor::Floors;
use super::graph::{Level, Part, parts};
use super::judge::{Acquisition, Judge, Obstacle, Rank, Shape, Verdict, shapes};
use super::process_view::{InvolvedLocks, ProcessView, reference};
use super::{semaphores, signals, words};
use crate::finding::Instances;
use crate::finding::{Details, Finding, Grade, Kind, Told};
use crate::model::{By, LockRef, Model, is_read};
use crate::progress::Progress;

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
    notes: &mut Vec<String>,
) -> Vec<Candidate> {
    let name = match level {
        Level::Instance => "searching cycles of locks",
        Level::Class => "searching cycles of lock classes",
    };
    let (parts, whole) = parts(view.model, level);
    progress.stage(name, parts.len() as u64);
    let judge = Judge::new(view.model);
    let mut cut = !whole;
    let mut candidates = Vec::new();
    for part in &parts {
        let (found, whole) = search(&judge, view.model, part, view.instances);
        cut |= !whole;
        candidates.extend(found.into_iter().map(|found| found.candidate(view, level, part)));
        progress.advance(1);
    }
    progress.looked(judge.looked());
    if cut {
        notes.push(format!(
            "{name} was cut short, as there are too many: the shortest ones were looked at first, \
             longer ones may be missing"
        ));
    }
    candidates
}

/// The pairs of merged classes, held and acquired, that the cycles found at a level are made of,
/// each with the most serious grade.
pub fn graded_pairs(model: &Model<'_>, level: Level) -> HashMap<(u32, u32), Grade> {
    let judge = Judge::new(model);
    let mut pairs = HashMap::new();
    for part in &parts(model, level).0 {
        for Found { verdict, .. } in search(&judge, model, part, Instances::Folded).0 {
            let lock = |id| model.trie.node(id).map(reference).unwrap_or_default();
            let contexts = verdict.acquisitions.iter().map(|acquisition| acquisition.context);
            let refs: Vec<LockRef> = contexts.clone().map(|context| lock(context.held)).collect();
            let grade = annotated::Contexts::of(model, &refs).grade(grade(level, &verdict));
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

/// The cycles of one part, and whether all of it was looked at.
fn search(
    judge: &Judge<'_, '_>,
    model: &Model<'_>,
    part: &Part,
    instances: Instances,
) -> (Vec<Found>, bool) {
    let threads = threads(model, part);
    let mut collector = Collector::new(model, part, judge, threads, instances);
    let (mut survey, mut walk) = (Budget::new(SURVEY), Budget::new(WALK));
    let mut limits = Limits { survey: &mut survey, walk: &mut walk };
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
    also: u64,
}

/// Places of a cycle before anything is symbolised: class, and call sites of both acquisitions.
type RawPlace = (u32, u64, u64);

/// Judges the cycles of one part and folds those that are the same.
struct Collector<'c, 'm, 'a> {
    model: &'m Model<'a>,
    part: &'c Part,
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
        part: &'c Part,
        judge: &'c Judge<'m, 'a>,
        threads: u32,
        instances: Instances,
    ) -> Self {
        Self {
            model,
            part,
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
        let places = self.raw_places(&verdict.acquisitions);
        let edges = edges.to_vec();
        match self.by_place.get(&places).filter(|_| self.instances == Instances::Folded) {
            Some(&at) => {
                let found = &mut self.found[at];
                found.also += 1;
                if verdict.obstacle.compare(found.verdict.obstacle).is_lt() {
                    (found.verdict, found.edges) = (verdict, edges);
                }
            }
            None if self.found.len() == MOST_KEPT => self.cut = true,
            None => {
                self.by_place.insert(places, self.found.len());
                self.found.push(Found { verdict, edges, also: 0 });
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

/// Grade of a verdict on a cycle of locks or of classes.
pub fn grade(level: Level, verdict: &Verdict) -> Grade {
    let grade = match verdict.obstacle {
        Obstacle::None if level == Level::Instance => Grade::Likely,
        Obstacle::None
        | Obstacle::Timeout(_)
        | Obstacle::Unrecorded(_)
        | Obstacle::Truncated(_)
        | Obstacle::Between(_)
        | Obstacle::Doubt(..) => Grade::Possible,
        Obstacle::Guard(..) | Obstacle::Enclosed(..) => Grade::Guarded,
        Obstacle::New(_) | Obstacle::Order(..) => Grade::Ordered,
        Obstacle::SameThread(..) => Grade::SingleThread,
    };
    // What was not looked at to the end is not excluded.
    if verdict.cut { grade.min(Grade::Possible) } else { grade }
}

impl Found {
    fn candidate(mut self, view: &ProcessView<'_, '_>, level: Level, part: &Part) -> Candidate {
        self.begin_with_first_thread(view.model);
        let Self { verdict, edges, also } = &self;
        let acquisitions = &verdict.acquisitions;
        let n = acquisitions.len();
        let refs: Vec<_> =
            acquisitions.iter().map(|acquisition| view.lock_of(acquisition.context.held)).collect();
        let classes = view.classes(&refs);
        let mut insts: Vec<u32> = match level {
            Level::Instance => refs.iter().map(|lock| lock.inst).collect(),
            Level::Class => Vec::new(),
        };
        insts.sort_unstable();
        let contexts = annotated::Contexts::of(view.model, &refs);
        let semaphores = semaphores::among(view.model, &refs);
        let involved = view.involved(level, refs);
        let grade = contexts.grade(grade(level, verdict));
        let signatures: Vec<String> =
            acquisitions.iter().map(|p| view.signature(p.context)).collect();
        let names = words::locks(&involved.names);
        let mut told = Told {
            title: match n {
                2 => format!("{names} are taken in both orders"),
                _ => format!("{names} are taken in a cycle"),
            },
            evidence: evidence(view, level, &involved, verdict),
            help: help(view, &involved, verdict, grade, |i| part.contexts(edges[i]).len()),
        };
        contexts.tell(&involved.names, grade, &mut told);
        told.evidence.extend(semaphores::why_locks(&involved.names, &semaphores));
        let mut kind = Kind::CircularDependency;
        if let Some(interrupted) = signals::interrupted(view, &involved, acquisitions) {
            kind = Kind::InconsistentState;
            told.title = interrupted.title;
            told.evidence.splice(0..0, interrupted.evidence);
            if grade <= Grade::Possible {
                told.help = interrupted.help;
            }
        }
        let step = |(i, acquisition)| view.step(&involved, acquisition, (i + 1) % n);
        let finding = Finding {
            kind,
            grade,
            details: Details::Told(told),
            steps: acquisitions.iter().enumerate().map(step).collect(),
            locks: involved.infos,
            pid: view.model.ledger.header().pid,
            process: None,
            origins: Vec::new(),
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
            Obstacle::Between(i) => Obstacle::Between(turned(i)),
            Obstacle::Doubt(i, j, node) => Obstacle::Doubt(turned(i), turned(j), node),
            Obstacle::Guard(i, j, node) => Obstacle::Guard(turned(i), turned(j), node),
            Obstacle::Enclosed(i, j, by) => Obstacle::Enclosed(turned(i), turned(j), by),
            Obstacle::New(i) => Obstacle::New(turned(i)),
            Obstacle::Order(i, j) => Obstacle::Order(turned(i), turned(j)),
            Obstacle::SameThread(i, j) => Obstacle::SameThread(turned(i), turned(j)),
        };
    }
}

/// What was on record in this process that could have ordered threads.
fn orders_threads(model: &Model<'_>) -> Vec<&'static str> {
    let has = |kind| model.ledger.rows::<Sync>().any(|(_, sync)| sync.kind == kind);
    let mut all = vec!["thread creation", "join"];
    all.extend(has(sync_kind::BARRIER).then_some("barrier"));
    all.extend(has(sync_kind::SEMAPHORE).then_some("semaphore"));
    all
}

/// Why the grade is what it is.
pub fn evidence(
    view: &ProcessView<'_, '_>,
    level: Level,
    involved: &InvolvedLocks,
    verdict: &Verdict,
) -> Vec<String> {
    let model = view.model;
    let acquisitions = &verdict.acquisitions;
    let n = acquisitions.len();
    let thread = |i: usize| words::thread(&model.thread(acquisitions[i].thread));
    let mut says = Vec::new();
    if level == Level::Class {
        says.push(
            "judged by lock class: this run did not take the same locks in these orders".into(),
        );
    }
    match verdict.obstacle {
        Obstacle::None => {
            let threads: Vec<String> = (0..n).map(thread).collect();
            let threads = words::list(&threads);
            if level == Level::Instance {
                says.push(format!("the same {} locks, taken by {threads}", words::number(n)));
            } else {
                says.push(format!("the orders were taken by {threads}"));
            }
            let orders = words::any(&orders_threads(model));
            says.push(format!("no {orders} orders the {} paths", words::number(n)));
            says.push(match n {
                2 => "no lock is held on both paths".into(),
                _ => "no lock is held on two of the paths".into(),
            });
        }
        Obstacle::Timeout(i) => {
            says.push(format!("{} can back out: it waits with a timeout", thread(i)));
        }
        Obstacle::Unrecorded(i) => {
            let held = involved.names[i].quoted();
            let next = involved.names[(i + 1) % n].quoted();
            says.push(format!("more threads took {next} with {held} held than were recorded"));
        }
        Obstacle::Truncated(i) => says.push(format!(
            "{} held more locks than were recorded: one of them may guard",
            thread(i)
        )),
        Obstacle::Between(i) => says.push(format!(
            "no thread is on record that is sure to be able to write {} meanwhile",
            involved.names[(i + 1) % n].quoted()
        )),
        Obstacle::Doubt(i, j, node) => {
            let class = LockRef { inst: 0, ..view.lock_of(node) };
            says.push(format!(
                "{} and {} both hold a lock of the class of {}, which may be the same",
                thread(i),
                thread(j),
                model.name(class).quoted()
            ));
        }
        Obstacle::Guard(i, j, node) => {
            let gate = model.name(view.lock_of(node)).quoted();
            says.push(format!("{} and {} both hold {gate}", thread(i), thread(j)));
            says.push("the recorded paths never come without such a common lock".into());
        }
        Obstacle::Enclosed(i, j, by) => {
            let gate = model.name(by.lock).quoted();
            let holder = words::thread(&model.thread(by.holder));
            says.push(format!("{} and {} never meet: one needs {gate}", thread(i), thread(j)));
            says.push(format!("the other begins and ends while {holder} holds it"));
        }
        Obstacle::New(i) => {
            let new = model.name(view.lock_of(acquisitions[i].context.held)).quoted();
            let maker = thread(i);
            says.push(format!("{new} was new: never released since its creation by {maker}"));
            says.push(format!("{maker} had released nothing since, so nobody else could know it"));
        }
        Obstacle::Order(i, j) => says.push(ordered(view, &acquisitions[i], &acquisitions[j])),
        Obstacle::SameThread(i, _) => {
            let mine = acquisitions
                .iter()
                .filter(|acquisition| acquisition.thread == acquisitions[i].thread)
                .count();
            says.push(match mine == n {
                true => format!("only {} took {} orders", thread(i), words::all(n)),
                false => format!(
                    "{} took {mine} of the {n} steps, a deadlock needs {n} threads",
                    thread(i)
                ),
            });
        }
    }
    if reads_meet(model, acquisitions) {
        says.push("readers block each other here through a writer that waits between them".into());
    }
    if verdict.cut {
        says.push("too many combinations of threads to look at all of them".into());
    }
    says
}

fn ordered(view: &ProcessView<'_, '_>, a: &Acquisition, b: &Acquisition) -> String {
    let name = |id| words::thread(&view.model.thread(id));
    let (early, late) = (name(a.thread), name(b.thread));
    let how = view.model.order.crossing(a.segment, b.segment).map(|step| {
        let (from, to) = (name(step.from), name(step.to));
        match step.by {
            By::Creation => format!(": {from} creates {to}"),
            By::Join => format!(": {from} is joined by {to}"),
            By::Barrier => format!(": {to} passes a barrier after {from} has reached it"),
            By::Post => format!(": {to} waits for a semaphore that {from} posts"),
            By::Release => format!(": {to} takes a lock after {from}, which held it before that"),
        }
    });
    format!("{early} is done before {late} begins{}", how.unwrap_or_default())
}

/// Whether a shared acquisition meets a shared holder in the ring, and may wait for it.
fn reads_meet(model: &Model<'_>, acquisitions: &[Acquisition]) -> bool {
    let reads = |id| model.trie.node(id).filter(|node| is_read(node.mode));
    let waits = |id| {
        reads(id).is_some_and(|node| {
            model.classes.has_readers(node.class) && !model.reads_freely(node.class, node.mode)
        })
    };
    let next = acquisitions.iter().cycle().skip(1);
    acquisitions
        .iter()
        .zip(next)
        .any(|(a, b)| waits(a.context.acquired) && reads(b.context.held).is_some())
}

/// What to do. `seen(i)` is how many contexts took the order of step `i`.
fn help(
    view: &ProcessView<'_, '_>,
    involved: &InvolvedLocks,
    verdict: &Verdict,
    grade: Grade,
    seen: impl Fn(usize) -> usize,
) -> Vec<String> {
    let n = verdict.acquisitions.len();
    let mut says = Vec::new();
    match (grade, verdict.obstacle) {
        (Grade::Guarded, Obstacle::Guard(_, _, node)) => says.push(format!(
            "harmless while every path holds {}; one order would not need it",
            view.model.name(view.lock_of(node)).quoted()
        )),
        (Grade::Guarded, Obstacle::Enclosed(_, _, by)) => says.push(format!(
            "harmless while {} is held around the other; one order would not need it",
            view.model.name(by.lock).quoted()
        )),
        (Grade::Ordered, Obstacle::New(i)) => says.push(format!(
            "harmless while nobody else learns of {} before it is first released",
            involved.names[i].quoted()
        )),
        (Grade::Ordered, _) => says.push("harmless while the threads stay ordered so".into()),
        (Grade::SingleThread, _) => {
            says.push("harmless while no second thread does the same at the same time".into());
        }
        _ => {
            // The order that fewer places rely on is the cheaper one to change.
            let rarest = (0..n).rev().min_by_key(|&i| seen(i)).unwrap_or(0);
            let (held, next) =
                (involved.names[rarest].quoted(), involved.names[(rarest + 1) % n].quoted());
            let at = view.place(verdict.acquisitions[rarest].context.acquired);
            says.push(match at {
                // The same code takes them in all orders: it is the locks that are to be told
                // apart.
                Some(place) if is_one_place(view.model, verdict) => format!(
                    "at {place}, take the locks in an order of their own: by address, or by a number that each has"
                ),
                Some(place) => format!("at {place}, take {next} before {held}, or release {held} first"),
                None => format!("take {next} before {held}, or release {held} first"),
            });
            says.push(format!("or hold one further lock around {}", words::all(n)));
            if uses_std_locks(view, verdict) {
                says.push("or take them together with std::scoped_lock, which orders them".into());
            }
        }
    }
    says
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
