//! Which segments of threads are ordered, and which are concurrent: by thread creation and join, by
//! barriers, by semaphores, and by locks that were held
//! across any of these.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::rc::Rc;

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{Hold, Segment, segment_kind};

use crate::finding::order::OrderedBy;

/// Entries of remembered pasts before they are forgotten: some 100 MB.
const REMEMBERED: usize = 4 << 20;

/// Latest segment of each thread that happens before a given segment, or is it.
pub type Past = HashMap<u32, u32>;

/// Groups of holds that overlap kept, each of which is looked at wherever a writer is.
const MOST_OVERLAPPING: usize = 64;

/// The happens-before order of one process.
pub struct Order {
    segments: BTreeMap<u32, Segment>,
    /// By segment: what it follows because too few posts of a semaphore can come without.
    behind: HashMap<u32, Vec<u32>>,
    pasts: RefCell<HashMap<u32, Rc<Past>>>,
    remembered: Cell<usize>,
    /// By lock.
    holds: HashMap<u32, Vec<Hold>>,
    /// Holds during which their holder came after something that others did.
    enclosing: Vec<Hold>,
    enclosed: RefCell<HashMap<u32, Rc<[Hold]>>>,
    /// Holds of one thread each of which begins before those ahead of it have ended, by their
    /// beginning; something that others did lies within them.
    overlapping: Vec<Vec<Hold>>,
}

/// A step from thread to thread that orders two segments.
#[derive(Clone, Copy, Debug)]
pub struct Crossing {
    /// What it is.
    pub by: OrderedBy,
    /// Thread that comes before.
    pub from: u32,
    /// Thread that comes after.
    pub to: u32,
}

impl Order {
    /// The order before any conclusion is drawn from it.
    pub(super) fn recorded(ledger: &Ledger) -> Self {
        Self {
            segments: ledger.rows::<Segment>().collect(),
            behind: HashMap::new(),
            pasts: RefCell::default(),
            remembered: Cell::new(0),
            holds: HashMap::new(),
            enclosing: Vec::new(),
            enclosed: RefCell::default(),
            overlapping: Vec::new(),
        }
    }

    pub(super) fn segments(&self) -> &BTreeMap<u32, Segment> {
        &self.segments
    }

    /// Adds the holds, once the order of the segments is complete. Those of the classes `none` are none.
    pub(super) fn add_holds(&mut self, ledger: &Ledger, none: &HashSet<u32>) {
        let holds = ledger.rows::<Hold>().map(|(_, hold)| hold);
        let holds: Vec<Hold> = holds.filter(|hold| !none.contains(&hold.class)).collect();
        self.enclosing = holds.iter().filter(|hold| self.encloses(hold)).copied().collect();
        for &hold in holds.iter().filter(|hold| hold.inst != 0) {
            self.holds.entry(hold.inst).or_default().push(hold);
        }
        let encloses = |run: &Vec<Hold>| {
            let whole = Hold { last: last(run), ..run[0] };
            run.len() > 1 && self.encloses(&whole)
        };
        self.overlapping =
            runs(&holds).into_iter().filter(encloses).take(MOST_OVERLAPPING).collect();
    }

    /// Orders who took a lock behind the hold that this only can have come after. If semaphores
    /// order anything, not every hold is one: it must have been begun before.
    pub(super) fn pass(&mut self, ledger: &Ledger, none: &HashSet<u32>, is_sure: bool) {
        let is_open = |row: &Segment| row.kind == segment_kind::PASSED && row.peer == 0;
        let passed: Vec<(u32, Segment)> = self
            .segments
            .iter()
            .filter(|(_, row)| is_open(row))
            .map(|(&id, &row)| (id, row))
            .collect();
        for (id, row) in passed {
            let hold = ledger.get::<Hold>(row.sync).unwrap_or_default();
            if !none.contains(&hold.class) && (is_sure || self.before(hold.first, row.prev)) {
                self.segments.insert(id, Segment { peer: hold.last, ..row });
            }
        }
    }

    /// Forgets the pasts, after the order has changed.
    pub(super) fn forget(&mut self) {
        self.pasts.get_mut().clear();
        self.remembered.set(0);
    }

    /// Whether something that others did can lie within the hold.
    fn encloses(&self, hold: &Hold) -> bool {
        let mut at = hold.last;
        while at > hold.first {
            match self.segment(at) {
                Some(row) if row.peer != 0 || self.behind.contains_key(&at) => return true,
                // A thread's segments follow each other; what a damaged ledger says need not.
                Some(row) if row.prev < at => at = row.prev,
                _ => return false,
            }
        }
        false
    }

    /// Whether any hold is known that others came after the beginning of, or the end.
    pub fn has_holds(&self) -> bool {
        !self.holds.is_empty()
    }

    /// The holds of a lock that threads came after the beginning of, or the end.
    pub fn holds(&self, inst: u32) -> &[Hold] {
        self.holds.get(&inst).map_or(&[], Vec::as_slice)
    }

    /// The holds of other threads within which all of a segment happens, in every run: acquired
    /// before it, and released after it.
    pub fn enclosing(&self, segment: u32) -> Rc<[Hold]> {
        if self.enclosing.is_empty() {
            return Rc::default();
        }
        let known = self.enclosed.borrow().get(&segment).map(Rc::clone);
        known.unwrap_or_else(|| {
            let around = |hold: &&Hold| {
                Some(hold.thread) != self.thread(segment)
                    && segment < hold.last
                    && self.before(hold.first, segment)
                    && self.before(segment, hold.last)
            };
            let holds: Rc<[Hold]> = self.enclosing.iter().filter(around).copied().collect();
            self.enclosed.borrow_mut().insert(segment, Rc::clone(&holds));
            holds
        })
    }

    /// Holds of another thread that overlap so that all of a segment happens within them, in every
    /// run, though within none of them alone. Only those that are `wanted` count.
    pub fn enclosing_together(&self, segment: u32, wanted: impl Fn(&Hold) -> bool) -> bool {
        let around = |run: &[Hold]| {
            Some(run[0].thread) != self.thread(segment)
                && segment < last(run)
                && self.before(run[0].first, segment)
                && self.before(segment, last(run))
        };
        self.overlapping.iter().filter(|run| around(run)).any(|run| {
            let holds: Vec<Hold> = run.iter().filter(|hold| wanted(hold)).copied().collect();
            runs(&holds).iter().any(|run| around(run))
        })
    }

    fn segment(&self, id: u32) -> Option<&Segment> {
        self.segments.get(&id)
    }

    /// The thread of a segment, `None` if the segment is not known.
    pub fn thread(&self, segment: u32) -> Option<u32> {
        self.segment(segment).map(|row| row.thread).filter(|&thread| thread != 0)
    }

    /// Whether neither of two segments happens before the other: their threads may have run them
    /// at the same time.
    pub fn concurrent(&self, a: u32, b: u32) -> bool {
        match (self.thread(a), self.thread(b)) {
            (Some(x), Some(y)) => x != y && !self.before(a, b) && !self.before(b, a),
            _ => true,
        }
    }

    /// Says that `segment` comes after all of `those`. Returns whether that is news.
    pub(super) fn comes_after(&mut self, segment: u32, those: Vec<u32>) -> bool {
        let is_news = self.behind.get(&segment) != Some(&those);
        if is_news {
            self.behind.insert(segment, those);
        }
        is_news
    }

    /// Whether segment `a` happens before segment `b` of another thread.
    pub fn before(&self, a: u32, b: u32) -> bool {
        // Segments are numbered as they begin, and a segment's past has begun before it.
        if a >= b {
            return false;
        }
        let Some(thread) = self.thread(a) else { return false };
        self.past(b).get(&thread).is_some_and(|&latest| latest >= a)
    }

    /// The segments that a segment follows directly.
    fn follows(&self, id: u32, row: &Segment) -> impl Iterator<Item = u32> {
        let posts = self.behind.get(&id).into_iter().flatten().copied();
        [row.prev, row.peer].into_iter().chain(posts).filter(|&id| id != 0)
    }

    /// The latest segment of each thread that is over when `segment` begins; of its own thread, itself.
    pub fn past(&self, segment: u32) -> Rc<Past> {
        if let Some(past) = self.pasts.borrow().get(&segment) {
            return Rc::clone(past);
        }
        let mut past = Past::new();
        let mut seen = HashSet::from([segment]);
        let mut open = vec![segment];
        while let Some(id) = open.pop() {
            let Some(row) = self.segment(id) else { continue };
            let latest = past.entry(row.thread).or_insert(id);
            *latest = id.max(*latest);
            open.extend(self.follows(id, row).filter(|&id| seen.insert(id)));
        }
        let past = Rc::new(past);
        let mut pasts = self.pasts.borrow_mut();
        if self.remembered.get() + past.len() > REMEMBERED {
            pasts.clear();
            self.remembered.set(0);
        }
        self.remembered.set(self.remembered.get() + past.len());
        pasts.insert(segment, Rc::clone(&past));
        past
    }

    /// How `a` comes to happen before `b`: the step through which the order first leaves the thread
    /// of `a`.
    pub fn crossing(&self, a: u32, b: u32) -> Option<Crossing> {
        let home = self.thread(a)?;
        let mut seen = HashSet::from([b]);
        // With each segment, the thread that it is looked at for: a meeting is nobody's own.
        let mut open = VecDeque::from([(b, self.thread(b)?)]);
        while let Some((id, reached)) = open.pop_front() {
            let Some(row) = self.segment(id) else { continue };
            let to = if row.kind == segment_kind::MEETING { reached } else { row.thread };
            let posts = self.behind.get(&id).into_iter().flatten().copied();
            let mut peers = posts.chain([row.peer]);
            if to != home && peers.any(|peer| self.thread(peer) == Some(home) && peer >= a) {
                let by = match row.kind {
                    segment_kind::JOINED => OrderedBy::Join,
                    segment_kind::OWNER_DIED => OrderedBy::Death,
                    segment_kind::MEETING => OrderedBy::Barrier,
                    segment_kind::POSTED => OrderedBy::Post,
                    segment_kind::PASSED => OrderedBy::Release,
                    segment_kind::INITIALISED => OrderedBy::Once,
                    _ => OrderedBy::Creation,
                };
                return Some(Crossing { by, from: home, to });
            }
            open.extend(self.follows(id, row).filter(|&id| seen.insert(id)).map(|id| (id, to)));
        }
        None
    }
}

/// The end of the last of these holds to end.
fn last(holds: &[Hold]) -> u32 {
    holds.iter().map(|hold| hold.last).max().unwrap_or(0)
}

/// The holds of each thread, split where it holds none of them.
///
/// A hold is known at the end of its first segment, and ends at the end of its last. So if one's
/// first segment is the other's last, both were held at the end of that.
fn runs(holds: &[Hold]) -> Vec<Vec<Hold>> {
    let mut sorted: Vec<Hold> =
        holds.iter().filter(|hold| hold.last > hold.first).copied().collect();
    sorted.sort_unstable_by_key(|hold| (hold.thread, hold.first));
    let mut runs: Vec<Vec<Hold>> = Vec::new();
    for hold in sorted {
        match runs.last_mut() {
            Some(run) if run[0].thread == hold.thread && hold.first <= last(run) => run.push(hold),
            _ => runs.push(vec![hold]),
        }
    }
    runs
}
