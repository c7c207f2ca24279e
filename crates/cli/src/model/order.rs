//! Which segments of threads are ordered, and which are concurrent: by thread creation and join, by
//! barriers, and by semaphores that one post alone can have let somebody through.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{Segment, Sync, segment_kind};

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

/// What orders segments of two threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The first creates the second.
    Creation,
    /// The second joins the first.
    Join,
    /// The first reaches a barrier that the second passes.
    Barrier,
    /// The first posts the semaphore that the second waits for.
    Post,
}

/// The segment that a semaphore wait follows in every run. None, if another thread than the one seen
/// could have posted: if several did. The first post's, if another thread could have had this one: if
/// several wait.
fn poster(ledger: &Ledger, posted: &Segment) -> u32 {
    match ledger.get::<Sync>(posted.sync) {
        Some(sync) if sync.mixed != 0 => 0,
        Some(sync) if sync.shared != 0 => sync.segments[0],
        Some(_) => posted.peer,
        None => 0,
    }
}

/// A step from thread to thread that orders two segments.
#[derive(Clone, Copy, Debug)]
pub struct Crossing {
    /// What it is.
    pub by: By,
    /// Thread that comes before.
    pub from: u32,
    /// Thread that comes after.
    pub to: u32,
}

impl Order {
    pub(super) fn new(ledger: &Ledger) -> Self {
        let mut segments: Vec<Segment> = Vec::new();
        for (id, mut segment) in ledger.rows::<Segment>() {
            segments.resize(id as usize, Segment::default());
            if segment.kind == segment_kind::POSTED {
                segment.peer = poster(ledger, &segment);
            }
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

    /// How `a` comes to happen before `b`: the step through which the order first leaves the thread of
    /// `a`.
    pub fn crossing(&self, a: u32, b: u32) -> Option<Crossing> {
        let home = self.thread(a)?;
        let mut seen = HashSet::from([b]);
        // With each segment, the thread that it is looked at for: a meeting is nobody's own.
        let mut open = VecDeque::from([(b, self.thread(b)?)]);
        while let Some((id, reached)) = open.pop_front() {
            let Some(row) = self.segment(id) else { continue };
            let to = if row.kind == segment_kind::MEETING { reached } else { row.thread };
            if self.thread(row.peer) == Some(home) && row.peer >= a && to != home {
                let by = match row.kind {
                    segment_kind::JOINED => By::Join,
                    segment_kind::MEETING => By::Barrier,
                    segment_kind::POSTED => By::Post,
                    _ => By::Creation,
                };
                return Some(Crossing { by, from: home, to });
            }
            let past = [row.prev, row.peer].into_iter();
            open.extend(past.filter(|&id| id != 0 && seen.insert(id)).map(|id| (id, to)));
        }
        None
    }
}
