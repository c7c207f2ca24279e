//! How serious a cycle is: whether threads could meet in it, by all that was recorded.
//!
//! A cycle's edges each have occurrences. A deadlock needs one occurrence of each edge, by pairwise
//! distinct threads, in segments that are concurrent, with no lock held by two of them (a gate; two
//! readers of one lock are none), and a writer more wherever a reader waits for a reader. If some
//! combination has all that, the cycle is real; otherwise the most serious of all combinations
//! counts, so nine guarded ones and one unguarded are not guarded.
//!
//! Occurrences that hold the same set of locks differ only in who took them, so they are one
//! [`Shape`], and combinations are of shapes first and of segments second.

pub(crate) mod ended_holds;
pub(crate) mod holds_around;
pub(crate) mod least_obstacle;
pub(crate) mod precedence;
pub(crate) mod scopes;
pub(crate) mod seats;
pub(crate) mod waiting_writer;
pub(crate) mod woken_holds;

use std::cell::{Cell, OnceCell, RefCell};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use lockwright_ledger::rows::{self, Node, mode};

use self::holds_around::Enclosure;
use self::precedence::{Contradiction, Precedence};
use self::scopes::Scopes;
use self::seats::Seats;
use self::waiting_writer::{Writer, Writers, readers};
use crate::lockdep::search::budget::Budget;
use crate::model::{HandOn, Model, shared};
use crate::view::occurrence::{Acquisition, Context};

/// Threads and segments kept for one shape; beyond that they count as not recorded.
const MAX_TAKERS: usize = 2048;
/// Shapes kept of one edge.
const MAX_SHAPES: usize = 512;
/// Combinations of shapes looked at for one cycle.
const SHAPE_STEPS: u64 = 50_000;
/// Segments looked at for one cycle.
const TAKER_STEPS: u64 = 400_000;
/// What a search for a writer that comes between is counted as.
const LOOKS_PER_WRITER: u64 = 64;

/// What stands between a cycle and a deadlock, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Nothing.
    None,
    /// Step `.0` has a timeout.
    Timeout(usize),
    /// More threads took step `.0` than the ledger could keep: whether they could meet is not
    /// known.
    Unrecorded(usize),
    /// More locks were held in step `.0` than recorded: whether one guards is not known.
    Truncated(usize),
    /// Rows were removed each time that the ledger was copied: whether something orders the steps is
    /// not known.
    Torn,
    /// Step `.0` came after a bound of what orders threads: whether something orders the steps is not
    /// known.
    Late(usize),
    /// Step `.0` reads what the next holds as a reader, and no recorded writer can come between for
    /// sure.
    Between(usize),
    /// Step `.0` came before step `.1` in this run, by a signal that need not have been waited for.
    HandedOn(usize, usize, HandOn),
    /// Steps `.0` and `.1` both hold a lock of the class of node `.2`, but which one is not
    /// recorded.
    Doubt(usize, usize, u32),
    /// Steps `.0` and `.1` hold a common lock, which is that of node `.2`.
    Guard(usize, usize, u32),
    /// All steps hold a semaphore that has not so many seats.
    Seats(Seats),
    /// Step `.0` or step `.1` lies within a hold that excludes the other.
    Enclosed(usize, usize, Enclosure),
    /// Step `.1` is over before a hold has ended whose lock step `.0` holds, and which began before.
    Over(usize, usize, Enclosure),
    /// Steps `.0` and `.1` each hold a lock that they can only have taken before the other's: the
    /// nodes of these.
    Precedence(usize, usize, [u32; 2]),
    /// What step `.0` holds was new: no other thread could know it and wait for it.
    New(usize),
    /// Step `.0` happens before step `.1`.
    Order(usize, usize),
    /// The thread of step `.0` lives only within a call that the thread of step `.1` is not in there.
    Scope(usize, usize),
    /// The thread of step `.0` lives only within a call after which the thread of step `.1` is created.
    ScopeOver(usize, usize),
    /// Steps `.0` and `.1` are the same thread's.
    SameThread(usize, usize),
}

impl Obstacle {
    /// How much it stands between.
    pub fn rank(self) -> Rank {
        Rank(match self {
            Self::None => 0,
            Self::Timeout(_) => 1,
            Self::Unrecorded(_)
            | Self::Truncated(_)
            | Self::Torn
            | Self::Late(_)
            | Self::Between(_)
            | Self::HandedOn(..)
            | Self::Doubt(..) => 2,
            Self::Guard(..)
            | Self::Seats(_)
            | Self::Enclosed(..)
            | Self::Over(..)
            | Self::Precedence(..) => 3,
            Self::New(_) | Self::Order(..) | Self::Scope(..) | Self::ScopeOver(..) => 4,
            Self::SameThread(..) => 5,
        })
    }

    /// The less the more serious.
    pub fn compare(self, other: Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

/// How much an obstacle stands between a cycle and a deadlock: the less, the more serious the
/// cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(u8);

/// A lock that two held sets have in common: the node of it in one of them.
#[derive(Clone, Copy, Debug)]
enum Gate {
    Certain(u32),
    /// Locks of one class, of which one is not known any closer.
    Doubtful(u32),
}

/// A cycle's most serious combination.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// What it lacks.
    pub obstacle: Obstacle,
    /// The combination, in the order of the edges.
    pub acquisitions: Vec<Acquisition>,
    /// Not all combinations were looked at.
    pub cut: bool,
}

/// Occurrences of an edge that hold the same locks.
#[derive(Clone, Debug)]
pub struct Shape {
    acquirers: Vec<Acquisition>,
    timed: bool,
    truncated: bool,
    /// What is held was new.
    new: bool,
    /// There were more acquirers than `acquirers`.
    more: bool,
}

impl Shape {
    /// Who took it; one at least.
    pub fn acquirers(&self) -> &[Acquisition] {
        &self.acquirers
    }

    /// Whether there were more acquirers than these.
    pub fn is_open(&self) -> bool {
        self.more
    }

    /// The shape with those acquirers alone that `keep` is true of; `None` if there are none.
    pub fn only(&self, keep: impl Fn(&Acquisition) -> bool) -> Option<Self> {
        let acquirers: Vec<Acquisition> =
            self.acquirers.iter().filter(|it| keep(it)).copied().collect();
        (!acquirers.is_empty()).then_some(Self { acquirers, more: false, ..*self })
    }
}

/// The shapes of an edge, those that make the most serious cycles first.
pub fn shapes(model: &Model<'_>, contexts: &[Context]) -> Vec<Shape> {
    let mut index: HashMap<(u64, u64, [bool; 3]), usize> = HashMap::new();
    let mut shapes: Vec<Shape> = Vec::new();
    for &context in contexts {
        let Some(node) = model.trie.node(context.acquired) else { continue };
        let timed = node.mode & mode::TIMED != 0;
        let truncated = model.trie.is_cut(context.acquired);
        // A reader needs a writer between where a writer does not: one does not stand for the
        // other.
        let shared = shared(node.mode);
        let new = model.trie.is_new(context.acquired, context.held);
        let key = (model.trie.held_set(context.acquired), shared, [timed, truncated, new]);
        let at = match index.get(&key) {
            Some(&at) => at,
            None if shapes.len() == MAX_SHAPES => {
                if let Some(last) = shapes.last_mut() {
                    last.more = true;
                }
                continue;
            }
            None => {
                index.insert(key, shapes.len());
                shapes.push(Shape { acquirers: vec![], timed, truncated, new, more: false });
                shapes.len() - 1
            }
        };
        let shape = &mut shapes[at];
        shape.more |= node.folded != 0;
        for &segment in model.trie.segments(context.acquired) {
            match model.order.thread(segment) {
                Some(_) if shape.acquirers.len() == MAX_TAKERS => shape.more = true,
                Some(thread) => shape.acquirers.push(Acquisition { context, segment, thread }),
                None => shape.more = true,
            }
        }
        if shape.acquirers.is_empty() {
            // Known only to have happened: stands for itself in a report.
            shape.acquirers.push(Acquisition { context, segment: 0, thread: 0 });
            shape.more = true;
        }
    }
    for shape in &mut shapes {
        shape.acquirers.sort_by_key(|taker| (taker.segment, taker.context));
        // What a thread must have done before may differ with how it came by what it holds.
        let mut seen = HashSet::new();
        shape.acquirers.retain(|taker| {
            let node = model.trie.node(taker.context.acquired).copied().unwrap_or_default();
            seen.insert((taker.segment, node.parent, node.mode & mode::COND_REACQUIRE))
        });
    }
    shapes.sort_by_key(|shape| (shape.new, shape.timed, shape.truncated));
    shapes
}

/// Judges cycles of one process.
pub struct Judge<'m, 'a> {
    model: &'m Model<'a>,
    /// By two held sets.
    gates: RefCell<HashMap<(u64, u64), Option<Gate>>>,
    writers: OnceCell<Writers>,
    precedence: OnceCell<Precedence>,
    scopes: OnceCell<Scopes>,
    /// Combinations looked at.
    looked: Cell<u64>,
}

/// What acquirers of a cycle's shapes have to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Demand {
    /// Distinct threads.
    Distinct,
    /// And in concurrent segments, where shapes with more acquirers than were recorded fit in any
    /// case.
    Lenient,
    /// And in concurrent segments.
    Concurrent,
    /// And with a writer between any two readers.
    Complete,
    /// And with none before another in this run by a signal.
    Apart,
}

impl<'m, 'a> Judge<'m, 'a> {
    /// A judge that has seen nothing yet.
    pub fn new(model: &'m Model<'a>) -> Self {
        Self {
            model,
            gates: RefCell::default(),
            writers: OnceCell::new(),
            precedence: OnceCell::new(),
            scopes: OnceCell::new(),
            looked: Cell::new(0),
        }
    }

    /// Combinations of shapes looked at, in all cycles.
    pub fn looked(&self) -> u64 {
        self.looked.get()
    }

    /// Finds the most serious combination of one occurrence of each edge. `None` only if an edge
    /// has no occurrence at all. None is known to be more serious than `floor`.
    pub fn judge(&self, edges: &[&[Shape]], floor: Rank) -> Option<Verdict> {
        if edges.is_empty() || edges.iter().any(|shapes| shapes.is_empty()) {
            return None;
        }
        let mut steps = Budget::new(SHAPE_STEPS);
        let mut looks = Budget::new(TAKER_STEPS);
        let mut best: Option<(Obstacle, Vec<Acquisition>)> = None;
        let mut at = vec![0; edges.len()];
        loop {
            let shapes: Vec<&Shape> = at.iter().zip(edges).map(|(&i, edge)| &edge[i]).collect();
            let least = best.as_ref().map(|best| best.0);
            self.looked.set(self.looked.get() + 1);
            if let Some(found) = self.combination(&shapes, least, &mut looks) {
                let done = found.0.rank() <= floor;
                best = Some(found);
                if done {
                    break;
                }
            }
            if !steps.take(1) || !advance(&mut at, edges) {
                break;
            }
        }
        let (mut obstacle, acquisitions) = best?;
        if let Some(unsure) = self.unsure(&acquisitions).filter(|it| obstacle.compare(*it).is_lt())
        {
            obstacle = unsure;
        }
        let cut = steps.is_spent_out() || looks.is_spent_out();
        Some(Verdict { obstacle, acquisitions, cut })
    }

    /// Whether something may order these that is not recorded.
    pub fn is_unsure(&self, acquisitions: &[Acquisition]) -> bool {
        self.unsure(acquisitions).is_some()
    }

    /// Why it is not known whether something orders these.
    fn unsure(&self, acquisitions: &[Acquisition]) -> Option<Obstacle> {
        let until = self.model.ledger.header().orders_until;
        let is_late = |it: &Acquisition| until != 0 && it.segment > until;
        match acquisitions.iter().position(is_late) {
            _ if self.model.ledger.is_torn() => Some(Obstacle::Torn),
            late => late.map(Obstacle::Late),
        }
    }

    /// The best of one combination of shapes, if it is more serious than `least`.
    fn combination(
        &self,
        shapes: &[&Shape],
        least: Option<Obstacle>,
        looks: &mut Budget,
    ) -> Option<(Obstacle, Vec<Acquisition>)> {
        let better = |obstacle: Obstacle| least.is_none_or(|least| obstacle.compare(least).is_lt());
        let new = shapes.iter().position(|shape| shape.new).map(Obstacle::New);
        let own = new.or_else(|| self.gate(shapes)).or_else(|| {
            let truncated = shapes.iter().position(|shape| shape.truncated);
            let timed = shapes.iter().position(|shape| shape.timed);
            truncated.map(Obstacle::Truncated).or(timed.map(Obstacle::Timeout))
        });
        let own = own.unwrap_or(Obstacle::None);
        if !better(own) {
            return None;
        }
        let has_signals = !self.model.handed_on.is_empty();
        if has_signals && let Some(acquisitions) = self.choose(shapes, Demand::Apart, looks) {
            return Some((own, acquisitions));
        }
        if let Some(acquisitions) = self.choose(shapes, Demand::Complete, looks) {
            // Where no two of them were kept apart by a signal, a writer was.
            let more = self
                .handed_on(&acquisitions)
                .or_else(|| has_signals.then(|| self.between(&acquisitions)));
            let obstacle = more.filter(|more| own.compare(*more).is_lt()).unwrap_or(own);
            return better(obstacle).then_some((obstacle, acquisitions));
        }
        if let Some(acquisitions) = self.choose(shapes, Demand::Concurrent, looks) {
            let between = self.between(&acquisitions);
            let obstacle = if own.compare(between).is_lt() { between } else { own };
            return better(obstacle).then_some((obstacle, acquisitions));
        }
        // An unrecorded thread might do what the recorded ones cannot, if there is a second thread.
        if let Some(more) = shapes.iter().position(|shape| shape.more)
            && self.model.threads().nth(1).is_some()
            && let Some(acquisitions) = self.choose(shapes, Demand::Lenient, looks)
        {
            let guessed = Obstacle::Unrecorded(more);
            let obstacle = if own.compare(guessed).is_lt() { guessed } else { own };
            return better(obstacle).then_some((obstacle, acquisitions));
        }
        if better(Obstacle::Guard(0, 0, 0))
            && let Some(acquisitions) = self.choose(shapes, Demand::Distinct, looks)
        {
            let obstacle = self.ordered(&acquisitions);
            return better(obstacle).then_some((obstacle, acquisitions));
        }
        let acquisitions: Vec<Acquisition> =
            shapes.iter().map(|shape| shape.acquirers[0]).collect();
        let single = same_thread(&acquisitions);
        better(single).then_some((single, acquisitions))
    }

    /// No writer is sure to be able to come between what these read and hold as readers.
    fn between(&self, acquisitions: &[Acquisition]) -> Obstacle {
        Obstacle::Between(readers(self.model, acquisitions).first().map_or(0, |reader| reader.0))
    }

    /// The first certain gate among the shapes, or else a semaphore with too few seats, or else the first doubtful gate.
    fn gate(&self, shapes: &[&Shape]) -> Option<Obstacle> {
        let mut doubt = None;
        for (i, a) in shapes.iter().enumerate() {
            for (j, b) in shapes.iter().enumerate().skip(i + 1) {
                let (a, b) = (a.acquirers[0].context.acquired, b.acquirers[0].context.acquired);
                match self.common(a, b) {
                    Some(Gate::Certain(node)) => return Some(Obstacle::Guard(i, j, node)),
                    Some(Gate::Doubtful(node)) => {
                        doubt.get_or_insert(Obstacle::Doubt(i, j, node));
                    }
                    None => {}
                }
            }
        }
        let steps = shapes.iter().map(|shape| shape.acquirers[0].context);
        let steps = steps.map(|context| seats::step(self.model, context));
        seats::too_few(self.model, steps).map(Obstacle::Seats).or(doubt)
    }

    /// A lock that is held in both contexts and cannot be by two threads at once.
    fn common(&self, a: u32, b: u32) -> Option<Gate> {
        let trie = &self.model.trie;
        let key = (trie.held_set(a), trie.held_set(b));
        *self.gates.borrow_mut().entry(key).or_insert_with(|| {
            let group = |node: &Node| self.model.classes.group_of(node.class);
            let mut locks: HashMap<u32, u16> = HashMap::new();
            // For each class held: whether a held lock of it is known by its class only.
            let mut classes: HashMap<u32, bool> = HashMap::new();
            for (_, node) in trie.held(a) {
                if node.inst != 0 && self.model.classes.excludes(node.class) {
                    locks.insert(node.inst, node.mode);
                }
                *classes.entry(group(node)).or_default() |= node.inst == 0;
            }
            let mut doubt = None;
            for (id, node) in trie.held(b) {
                if locks.get(&node.inst).is_some_and(|&other| rows::excludes(node.mode, other)) {
                    return Some(Gate::Certain(id));
                }
                let unknown = classes.get(&group(node));
                if unknown.is_some_and(|&unknown| unknown || node.inst == 0) {
                    doubt = Some(Gate::Doubtful(id));
                }
            }
            doubt
        })
    }

    /// A recorded writer that can wait for the lock of `read` while all of `acquisitions` wait, the
    /// surest, if possible one that no signal kept from that in this run.
    pub fn writer(&self, read: &Node, acquisitions: &[Acquisition]) -> Option<Writer> {
        let writers = self.writers.get_or_init(|| Writers::new(self.model));
        let all = || writers.of(read).filter(|writer| self.can_join(writer, acquisitions));
        all().find(|writer| self.is_apart(writer, acquisitions)).or_else(|| all().next()).copied()
    }

    /// No signal had the writer come before or after one of these in this run.
    pub fn is_apart(&self, writer: &Writer, acquisitions: &[Acquisition]) -> bool {
        !acquisitions.iter().any(|it| self.is_handed_on(it, &writer.acquisition))
    }

    /// Whether all of these may be where they are at the same time, with no lock held by two of
    /// them.
    pub fn may_meet(&self, acquisitions: &[Acquisition]) -> bool {
        let is_apart = |a: &Acquisition, b: &Acquisition| {
            let (x, y) = (a.context.acquired, b.context.acquired);
            !self.can_meet(a, b)
                || holds_around::apart_by_several(self.model, a, b)
                || self.common(x, y).is_some()
        };
        let mut pairs = (1..acquisitions.len()).flat_map(|j| (0..j).map(move |i| (i, j)));
        !pairs.any(|(i, j)| is_apart(&acquisitions[i], &acquisitions[j]))
            && seats::too_few(
                self.model,
                acquisitions.iter().map(|it| seats::step(self.model, it.context)),
            )
            .is_none()
            && ended_holds::over(self.model, acquisitions).is_none()
            && self.contradiction(acquisitions).is_none()
    }

    /// Whether two threads may be where they are at the same time.
    fn can_meet(&self, a: &Acquisition, b: &Acquisition) -> bool {
        self.model.order.concurrent(a.segment, b.segment)
            && holds_around::apart(self.model, a, b).is_none()
            && !self.scopes().keep_apart(self.model, a, b)
    }

    fn scopes(&self) -> &Scopes {
        self.scopes.get_or_init(|| Scopes::new(self.model))
    }

    fn can_join(&self, writer: &Writer, acquisitions: &[Acquisition]) -> bool {
        let new = writer.acquisition;
        acquisitions.iter().all(|acquisition| {
            let (a, b) = (acquisition.context.acquired, new.context.acquired);
            acquisition.thread != new.thread
                && self.can_meet(acquisition, &new)
                && !holds_around::apart_by_several(self.model, acquisition, &new)
                && !matches!(self.common(a, b), Some(Gate::Certain(_)))
        }) && {
            let all: Vec<Acquisition> = acquisitions.iter().copied().chain([new]).collect();
            let steps = acquisitions.iter().map(|it| seats::step(self.model, it.context));
            seats::too_few(self.model, steps.chain([new.context.acquired])).is_none()
                && ended_holds::over(self.model, &all).is_none()
        }
    }

    /// Whether wherever one of `acquisitions` reads what the next holds as a reader, a writer can
    /// come between.
    fn is_complete(&self, acquisitions: &[Acquisition], demand: Demand) -> bool {
        let readers = readers(self.model, acquisitions);
        if readers.is_empty() {
            return true;
        }
        let writers = self.writers.get_or_init(|| Writers::new(self.model));
        let mut involved = acquisitions.to_vec();
        self.complete(writers, &readers, &mut involved, demand)
    }

    fn complete(
        &self,
        writers: &Writers,
        readers: &[(usize, Node)],
        involved: &mut Vec<Acquisition>,
        demand: Demand,
    ) -> bool {
        let [(_, read), others @ ..] = readers else { return true };
        writers.of(read).take_while(|writer| writer.is_sure).any(|writer| {
            let is_apart = demand != Demand::Apart || self.is_apart(writer, involved);
            if !is_apart || !self.can_join(writer, involved) {
                return false;
            }
            involved.push(writer.acquisition);
            let complete = self.complete(writers, others, involved, demand);
            involved.pop();
            complete
        })
    }

    /// Acquirers of the shapes that meet the demand.
    fn choose(
        &self,
        shapes: &[&Shape],
        demand: Demand,
        looks: &mut Budget,
    ) -> Option<Vec<Acquisition>> {
        let is_complete = matches!(demand, Demand::Complete | Demand::Apart);
        let free = |shape: &Shape| demand == Demand::Lenient && shape.more;
        let fits = |a: &Acquisition, b: &Acquisition| {
            a.thread != b.thread
                && a.thread != 0
                && b.thread != 0
                && (demand == Demand::Distinct || self.can_meet(a, b))
                && (demand != Demand::Apart || !self.is_handed_on(a, b))
        };
        let mut at = vec![0];
        while let Some(&i) = at.last() {
            let depth = at.len() - 1;
            let shape = shapes[depth];
            if i == shape.acquirers.len() || !looks.take(1) {
                at.pop();
                if let Some(previous) = at.last_mut() {
                    *previous += 1;
                }
                continue;
            }
            let earlier = at[..depth].iter().zip(shapes).filter(|(_, shape)| !free(shape));
            let acquisition = shape.acquirers[i];
            if !free(shape)
                && !earlier.map(|(&j, s)| s.acquirers[j]).all(|other| fits(&other, &acquisition))
            {
                at[depth] += 1;
            } else if at.len() == shapes.len() {
                let acquisitions: Vec<Acquisition> =
                    at.iter().zip(shapes).map(|(&i, shape)| shape.acquirers[i]).collect();
                let may_be = demand == Demand::Distinct
                    || demand == Demand::Lenient
                    || ended_holds::over(self.model, &acquisitions).is_none()
                        && self.contradiction(&acquisitions).is_none();
                if may_be && (!is_complete || self.is_complete(&acquisitions, demand)) {
                    return Some(acquisitions);
                }
                looks.take(LOOKS_PER_WRITER);
                at[depth] += 1;
            } else {
                at.push(0);
            }
        }
        None
    }

    /// A signal had one of the two come before the other in this run.
    fn is_handed_on(&self, a: &Acquisition, b: &Acquisition) -> bool {
        [(a, b), (b, a)].into_iter().any(|(a, b)| self.signal_between(a, b).is_some())
    }

    /// The signal by which `a` came before `b` in this run, if one did.
    fn signal_between(&self, a: &Acquisition, b: &Acquisition) -> Option<HandOn> {
        let (model, handed_on) = (self.model, &self.model.handed_on);
        if handed_on.is_empty() {
            return None;
        }
        let direct = handed_on.between(&model.order, a.segment, b.segment);
        direct.or_else(|| woken_holds::over(model, self.precedence(), a, b))
    }

    /// Two steps of which one came before the other in this run, by a signal: [`Obstacle::HandedOn`].
    pub fn handed_on(&self, acquisitions: &[Acquisition]) -> Option<Obstacle> {
        let n = acquisitions.len();
        let mut pairs = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|(i, j)| i != j);
        pairs.find_map(|(i, j)| {
            let signal = self.signal_between(&acquisitions[i], &acquisitions[j])?;
            Some(Obstacle::HandedOn(i, j, signal))
        })
    }

    fn ordered(&self, acquisitions: &[Acquisition]) -> Obstacle {
        for (i, a) in acquisitions.iter().enumerate() {
            for (j, b) in acquisitions.iter().enumerate() {
                if i != j && self.model.order.before(a.segment, b.segment) {
                    return Obstacle::Order(i, j);
                }
                if let Some(enclosure) = holds_around::apart(self.model, a, b) {
                    return Obstacle::Enclosed(i, j, enclosure);
                }
                if i != j && self.scopes().is_outside(self.model, b, a) {
                    return Obstacle::Scope(i, j);
                }
                if i != j && self.scopes().is_over(self.model, a, b.thread) {
                    return Obstacle::ScopeOver(i, j);
                }
            }
        }
        if let Some((i, j, enclosure)) = ended_holds::over(self.model, acquisitions) {
            return Obstacle::Over(i, j, enclosure);
        }
        match self.contradiction(acquisitions) {
            Some(Contradiction { steps: [i, j], held }) => Obstacle::Precedence(i, j, held),
            None => Obstacle::Order(0, 0),
        }
    }

    fn contradiction(&self, acquisitions: &[Acquisition]) -> Option<Contradiction> {
        self.precedence().contradiction(self.model, acquisitions)
    }

    fn precedence(&self) -> &Precedence {
        self.precedence.get_or_init(|| Precedence::new(self.model))
    }
}

fn same_thread(acquisitions: &[Acquisition]) -> Obstacle {
    for (i, a) in acquisitions.iter().enumerate() {
        if let Some(j) = acquisitions[i + 1..].iter().position(|b| a.thread == b.thread) {
            return Obstacle::SameThread(i, i + 1 + j);
        }
    }
    Obstacle::SameThread(0, 0)
}

/// The next combination; false after the last.
fn advance(at: &mut [usize], edges: &[&[Shape]]) -> bool {
    for (i, edge) in at.iter_mut().zip(edges) {
        *i += 1;
        if *i < edge.len() {
            return true;
        }
        *i = 0;
    }
    false
}
