//! Which segments of threads are ordered by thread creation and join, and which are concurrent.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{Segment, segment_kind};

/// Entries of remembered pasts before they are forgotten: some 100 MB.
const REMEMBERED: usize = 4 << 20;

/// Latest segment of each thread that happens before a given segment, or is it.
type Past = HashMap<u32, u32>;

/// The happens-before order of one process.
pub struct Order {
    segments: Vec<Segment>,
    pasts: RefCell<HashMap<u32, Rc<Past>>>,
    remembered: Cell<usize>,
}

/// A step from thread to thread that orders two segments.
#[derive(Clone, Copy, Debug)]
pub struct Crossing {
    /// True for a join, false for a creation.
    pub join: bool,
    /// Thread that was joined, or that created.
    pub from: u32,
    /// Thread that joined, or that was created.
    pub to: u32,
}

impl Order {
    pub(super) fn new(ledger: &Ledger) -> Self {
        let mut segments: Vec<Segment> = Vec::new();
        for (id, segment) in ledger.rows::<Segment>() {
            segments.resize(id as usize, Segment::default());
            segments.push(segment);
        }
        Self { segments, pasts: RefCell::default(), remembered: Cell::new(0) }
    }

    fn segment(&self, id: u32) -> Option<&Segment> {
        self.segments.get(id as usize).filter(|segment| segment.state != 0)
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

    /// Whether segment `a` happens before segment `b` of another thread.
    pub fn before(&self, a: u32, b: u32) -> bool {
        // Segments are numbered as they begin, and a segment's past has begun before it.
        if a >= b {
            return false;
        }
        let Some(thread) = self.thread(a) else { return false };
        self.past(b).get(&thread).is_some_and(|&latest| latest >= a)
    }

    fn past(&self, segment: u32) -> Rc<Past> {
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
            open.extend([row.prev, row.peer].into_iter().filter(|&id| id != 0 && seen.insert(id)));
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

    /// How `a` comes to happen before `b`: the creation or join through which the order first leaves
    /// the thread of `a`.
    pub fn crossing(&self, a: u32, b: u32) -> Option<Crossing> {
        let home = self.thread(a)?;
        let mut seen = HashSet::from([b]);
        let mut open = VecDeque::from([b]);
        while let Some(id) = open.pop_front() {
            let Some(row) = self.segment(id) else { continue };
            if self.thread(row.peer) == Some(home) && row.peer >= a && row.thread != home {
                let join = row.kind == segment_kind::JOINED;
                return Some(Crossing { join, from: home, to: row.thread });
            }
            let past = [row.prev, row.peer].into_iter();
            open.extend(past.filter(|&id| id != 0 && seen.insert(id)));
        }
        None
    }
}
