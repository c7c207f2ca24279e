//! The timeline of a run. All times are in nanoseconds since the start of its first process.

use crate::lockmeter::model::At;

/// What was recorded of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// How much of each process that was asked to record there is.
    pub rings: Vec<Ring>,
    /// Threads, by process, then by kernel id.
    pub threads: Vec<Thread>,
    /// Locks that threads waited for, the longest waited for first, and no more than a reader can use.
    pub locks: Vec<Lock>,
    /// The longest waits for locks, the longest first.
    pub worst: Vec<Place>,
}

/// How much of a process's timeline there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Index into [`crate::lockmeter::model::MeterReport::processes`].
    pub process: usize,
    /// Events.
    pub events: u64,
    /// Events at the most that later ones have overwritten.
    pub overwritten: u64,
    /// Short events that were left out, and those without room.
    pub left_out: u64,
    /// Events that were being written when the process was killed or the file copied, or are damaged.
    pub torn: u64,
    /// When the first of what is there began.
    pub from_ns: u64,
}

/// A thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Thread {
    /// As [`Ring::process`].
    pub process: usize,
    /// The process's id.
    pub pid: u32,
    /// Its kernel id.
    pub tid: u32,
    /// Its name, if that is known.
    pub name: Option<String>,
    /// What it did, in order of beginning; of those that began at once, the longest first.
    pub slices: Vec<Slice>,
}

/// A slice: the thread, and which of its slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Index into [`Timeline::threads`].
    pub thread: usize,
    /// Index into [`Thread::slices`].
    pub slice: usize,
}

/// What a slice is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SliceKind {
    /// The thread held a lock.
    Hold,
    /// The thread waited.
    Wait,
}

/// Something that a thread did, from a moment to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slice {
    /// What.
    pub kind: SliceKind,
    /// When it began; of a hold whose beginning is not known, its end.
    pub begin_ns: u64,
    /// When it ended; of an unfinished wait, the last that is known of its process.
    pub end_ns: u64,
    /// Where: the lock's site, or what else was waited for.
    pub at: At,
    /// Address of what was waited for or held, 0 if it is not known.
    pub addr: u64,
    /// The lock, if it has a track: index into [`Timeline::locks`].
    pub lock: Option<usize>,
    /// Who held the lock that was waited for when the wait began.
    pub holder: Option<Holder>,
    /// The end of a wait by another thread.
    pub ended_by: Option<HandOver>,
    /// The wait ran out of time.
    pub gave_up: bool,
    /// The wait is not over.
    pub is_unfinished: bool,
    /// Others can share the hold.
    pub is_shared: bool,
    /// A thread waited for the lock when the hold ended.
    pub is_waited_for: bool,
    /// The thread came last to a barrier, so that all went on.
    pub came_last: bool,
}

impl Slice {
    /// How long it was.
    pub fn ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns)
    }

    /// It is a wait for a lock.
    pub fn is_lock_wait(&self) -> bool {
        self.kind == SliceKind::Wait && matches!(self.at, At::Lock { .. })
    }
}

/// The thread that held a lock when a wait for it began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Holder {
    /// Its kernel id.
    pub tid: u32,
    /// Where it took it.
    pub at: At,
}

/// The end of a wait by another thread: it let the lock go, or gave the signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandOver {
    /// The thread: index into [`Timeline::threads`].
    pub thread: usize,
    /// When: after the wait's beginning, and before its end.
    pub at_ns: u64,
}

/// A lock that threads waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lock {
    /// As [`Ring::process`].
    pub process: usize,
    /// Its class: index into [`crate::lockmeter::model::MeterReport::locks`].
    pub class: usize,
    /// Its address.
    pub addr: u64,
    /// How long it was waited for in the slices.
    pub waited_ns: u64,
}

impl Timeline {
    /// All slices.
    pub fn slices(&self) -> impl Iterator<Item = (Place, &Slice)> {
        self.threads.iter().enumerate().flat_map(|(thread, it)| {
            it.slices.iter().enumerate().map(move |(slice, of)| (Place { thread, slice }, of))
        })
    }

    /// The slice at a place, and its thread.
    pub fn at(&self, place: Place) -> Option<(&Thread, &Slice)> {
        let thread = self.threads.get(place.thread)?;
        Some((thread, thread.slices.get(place.slice)?))
    }

    /// Waits of which it is known which thread ended them.
    pub fn hand_overs(&self) -> impl Iterator<Item = (Place, &Slice, HandOver)> {
        self.slices().filter_map(|(place, slice)| Some((place, slice, slice.ended_by?)))
    }

    /// How many slices of a kind there are.
    pub fn count(&self, kind: SliceKind) -> usize {
        self.slices().filter(|(_, slice)| slice.kind == kind).count()
    }

    /// Places in the report, for one that changes their order.
    pub(in crate::lockmeter) fn places_mut(&mut self) -> impl Iterator<Item = &mut At> {
        self.threads.iter_mut().flat_map(|thread| &mut thread.slices).flat_map(|slice| {
            let holder = slice.holder.as_mut().map(|holder| &mut holder.at);
            core::iter::once(&mut slice.at).chain(holder)
        })
    }

    /// The classes of locks, likewise.
    pub(in crate::lockmeter) fn classes_mut(&mut self) -> impl Iterator<Item = &mut usize> {
        self.locks.iter_mut().map(|lock| &mut lock.class)
    }
}
