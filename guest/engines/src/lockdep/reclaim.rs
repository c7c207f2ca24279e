//! Removal of the segments and threads that no other row needs, so that a program which makes threads
//! for ever has a ledger that stays as it is.
//!
//! A segment is *needed* if something refers to it: evidence, a finding, a hold, a semaphore, a
//! barrier, a thread that lives or may be joined, a creation under way. The others tell only which
//! of the needed ones come before which. So one that comes directly after a single other is left
//! out, and what comes after it comes after that other: the order of all that is left stays exactly
//! the same. One that comes directly after two others, neither of which comes before the other, is
//! kept. What comes next to evidence in a thread is kept, too: the reader looks there for what ended
//! a segment.
//!
//! Readers may copy the ledger meanwhile, or find it as it was when the process was killed. So the
//! order of the segments that stay is the same after each store: first they come to do without the
//! others, from the oldest on, then the others go, then threads. Between [`Writer::begin_removal`] and
//! [`Writer::end_removal`] a copy may be of several moments, and readers know by the header.
//!
//! It takes time in proportion to all rows, and is done when segments have doubled since
//! the last time. [`Segment::mark`] holds what is found out meanwhile.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::rows::object::ObjectFinding;
use lockwright_ledger::rows::{
    Evidence, Finding, Hold, Row, Segment, Step, Sync, Thread, Usage, segment_kind, thread_state,
};
use lockwright_ledger::{Header, Writer};

use super::recorder::threads;
use super::thread::ThreadRow;

/// Marks of segments that are kept; other values of [`Segment::mark`] are the number of the segment
/// that stands for one that is left out, 0 if none does.
const KEPT: u32 = u32::MAX;
/// As [`KEPT`], with the thread's segments before and after it.
const KEPT_WITH_NEXT: u32 = u32::MAX - 1;

/// Segments before the first time, and more than the last time left.
const LEAST: u64 = 512;

/// Segments looked at to learn whether one comes before another. If that takes more it counts as
/// not known, and both are kept.
const MOST_LOOKS: usize = 64;

/// What is to be known of segments for that.
pub(super) struct Reclaim {
    /// Ends of the list of segments, in the order in which they were made.
    oldest: u32,
    newest: u32,
    /// Segments at which it is done again.
    due_at: u64,
    /// It is done whenever a thread ends or is joined.
    is_eager: bool,
}

impl Reclaim {
    pub(super) const fn new() -> Self {
        Self { oldest: 0, newest: 0, due_at: LEAST, is_eager: false }
    }

    /// Segment `id` was made.
    pub(super) fn made(&mut self, writer: &mut Writer, id: u32) {
        match core::mem::replace(&mut self.newest, id) {
            0 => self.oldest = id,
            before => writer.update::<Segment>(before, |row| row.newer = id),
        }
    }
}

/// What is looked at and changed at one time.
pub(super) struct Removal<'a> {
    pub(super) writer: &'a mut Writer,
    pub(super) reclaim: &'a mut Reclaim,
}

impl Removal<'_> {
    /// Has it done whenever a thread ends or is joined: for tests that nothing follows from it.
    pub fn reclaim_eagerly(&mut self) {
        self.reclaim.is_eager = true;
    }

    /// Has it done when there is much again.
    pub fn reclaim_when_due(&mut self) {
        self.reclaim.is_eager = false;
    }

    /// Takes off the record what is not needed, if there is much.
    pub(super) fn reclaim_if_due(&mut self) {
        let segments = self.writer.count_of::<Segment>();
        if segments >= self.reclaim.due_at || self.reclaim.is_eager {
            self.reclaim();
        }
    }

    #[cold]
    fn reclaim(&mut self) {
        let mut looked_at = 0;
        self.each_segment(|writer, id, _| writer.update::<Segment>(id, |row| row.mark = 0));
        self.each_thread(|_, thread| {
            if thread.state().load(Relaxed) != thread_state::LIVE {
                thread.cache().store(0, Relaxed);
            }
        });
        self.keep_what_is_named(&mut looked_at);
        self.keep_neighbours();
        self.keep_of_threads();
        self.writer.begin_removal();
        self.shorten_ways();
        self.remove_segments();
        self.remove_threads();
        self.writer.end_removal();
        let left = self.writer.count_of::<Segment>();
        // What is looked at each time is paid for by what is made between two times.
        self.reclaim.due_at = 2 * left + LEAST.max(looked_at / 8);
    }

    fn each_segment(&mut self, mut f: impl FnMut(&mut Writer, u32, Segment)) {
        let mut next = self.reclaim.oldest;
        while let Some(&row) = self.writer.get::<Segment>(next) {
            f(self.writer, next, row);
            next = row.newer;
        }
    }

    /// What is to be known of threads for this changes with the core's lock held only. So all accesses to it
    /// are relaxed.
    fn each_thread(&mut self, mut f: impl FnMut(&mut Writer, ThreadRow)) {
        for place in 1..self.writer.len_of::<Thread>() {
            // SAFETY: a place below the table's length, which stays mapped.
            let thread = unsafe { ThreadRow::new(self.writer.place_ptr::<Thread>(place)) };
            if thread.state().load(Relaxed) != 0 {
                f(self.writer, thread);
            }
        }
    }

    /// Rows other than segments name some, and threads.
    fn keep_what_is_named(&mut self, looked_at: &mut u64) {
        let writer = &mut self.writer;
        *looked_at += each::<Evidence>(writer, |writer, row| {
            keep(writer, row.segment, KEPT_WITH_NEXT);
        });
        *looked_at += each::<Usage>(writer, |writer, row| {
            keep(writer, row.segment, KEPT_WITH_NEXT);
        });
        *looked_at += each::<Hold>(writer, |writer, row| {
            keep(writer, row.first, KEPT_WITH_NEXT);
            keep(writer, row.last, KEPT_WITH_NEXT);
        });
        *looked_at += each::<Sync>(writer, |writer, row| {
            row.segments.iter().chain([&row.head]).for_each(|&id| keep(writer, id, KEPT));
        });
        *looked_at += each::<Finding>(writer, |writer, row| {
            keep(writer, row.segment, KEPT_WITH_NEXT);
            [row.thread, row.other_thread].iter().for_each(|&id| keep_thread(writer, id));
        });
        *looked_at += each::<Step>(writer, |writer, row| keep_thread(writer, row.thread));
        *looked_at += each::<ObjectFinding>(writer, |writer, row| {
            let threads = [
                row.thread,
                row.other_thread,
                row.init_thread,
                row.active_thread,
                row.destroy_thread,
            ];
            threads.iter().for_each(|&id| keep_thread(writer, id));
        });
    }

    /// Segments next to those with evidence, and those that order threads otherwise than by creation
    /// and join: of these the order follows from several rows together.
    fn keep_neighbours(&mut self) {
        self.each_segment(|writer, id, row| {
            use segment_kind::{CREATED, INITIALISED, JOINED, SIGNALS, START};
            let is_plain = matches!(row.kind, START | CREATED | JOINED | INITIALISED | SIGNALS);
            if row.pins != 0 || !is_plain {
                keep(writer, id, KEPT_WITH_NEXT);
            }
            let mark_of = |writer: &Writer, id| writer.get::<Segment>(id).map_or(0, |row| row.mark);
            if mark_of(writer, id) == KEPT_WITH_NEXT {
                keep(writer, row.prev, KEPT);
            }
            if mark_of(writer, row.prev) == KEPT_WITH_NEXT {
                keep(writer, id, KEPT);
                // Which thread was joined there.
                keep(writer, row.peer, KEPT);
            }
        });
    }

    /// The current segment of each thread that others may come after, and where threads began that
    /// have segments left.
    fn keep_of_threads(&mut self) {
        self.each_segment(|writer, _, row| {
            if is_kept(row.mark) {
                keep_thread(writer, row.thread);
            }
        });
        self.each_thread(|writer, thread| {
            let state = thread.state().load(Relaxed);
            if state != thread_state::SETTLED {
                keep(writer, thread.segment().load(Relaxed), KEPT);
            }
            if state == thread_state::LIVE || thread.cache().load(Relaxed) != 0 {
                keep(writer, thread.parent_segment(), KEPT);
            }
        });
    }

    /// Finds what stands for each segment that is left out, from the oldest on, and has those that
    /// are kept come after that.
    fn shorten_ways(&mut self) {
        self.each_segment(|writer, id, row| {
            let (mut prev, mut peer) = (stands_for(writer, row.prev), stands_for(writer, row.peer));
            if peer != 0 && (peer == prev || comes_before(writer, peer, &row, prev)) {
                peer = 0;
            }
            if !is_kept(row.mark) && (prev == 0 || peer == 0) {
                writer.update::<Segment>(id, |row| row.mark = prev.max(peer));
                return;
            }
            if !is_kept(row.mark) {
                keep(writer, id, KEPT);
            }
            let mut kind = row.kind;
            let is_own =
                |prev| writer.get::<Segment>(prev).is_some_and(|it| it.thread == row.thread);
            if prev != 0 && row.kind != segment_kind::MEETING && !is_own(prev) {
                // All that the thread did before is left out, except which other thread it came after.
                if peer == 0 {
                    (prev, peer, kind) = (0, prev, segment_kind::START);
                } else {
                    // That takes a segment of its own, as which the one before will do.
                    keep(writer, row.prev, KEPT);
                    reorder(writer, row.prev, segment_kind::START, prev, 0);
                    prev = row.prev;
                }
            }
            reorder(writer, id, kind, peer, prev);
        });
    }

    fn remove_segments(&mut self) {
        let mut next = core::mem::take(&mut self.reclaim.oldest);
        self.reclaim.newest = 0;
        while let Some(&Segment { id, newer, mark, .. }) = self.writer.get::<Segment>(next) {
            next = newer;
            match is_kept(mark) {
                true => self.reclaim.made(self.writer, id),
                false => self.writer.remove::<Segment>(id),
            }
        }
        self.writer.update::<Segment>(self.reclaim.newest, |row| row.newer = 0);
    }

    fn remove_threads(&mut self) {
        self.each_segment(|writer, _, row| keep_thread(writer, row.thread));
        self.each_thread(|writer, thread| {
            let is_settled = thread.state().load(Relaxed) == thread_state::SETTLED;
            if is_settled && thread.cache().load(Relaxed) == 0 {
                keep_counts(writer.header(), &thread);
                writer.remove::<Thread>(thread.id());
            }
        });
    }
}

/// Adds what a thread did, whose row is removed next, to what all such threads did.
fn keep_counts(header: &Header, thread: &ThreadRow) {
    let sums = [&header.removed_acquisitions, &header.removed_contended];
    let all = sums.into_iter().chain(&header.removed_events);
    for (sum, count) in all.zip(thread.counts()) {
        // Relaxed: a count, which the core's lock is held for.
        sum.fetch_add(count, Relaxed);
    }
}

/// Changes what a segment comes directly after, to what that comes after in turn. After each of the
/// stores the order of the segments that stay is the same: what `prev` loses, `peer` has by then,
/// and a `peer` that is left out is what `prev` comes after, old and new. As a START it is nobody's
/// join before it names another peer.
fn reorder(writer: &mut Writer, id: u32, kind: u32, peer: u32, prev: u32) {
    writer.set::<Segment>(id, |row| &mut row.kind, kind);
    writer.set::<Segment>(id, |row| &mut row.peer, peer);
    writer.set::<Segment>(id, |row| &mut row.prev, prev);
}

const fn is_kept(mark: u32) -> bool {
    mark >= KEPT_WITH_NEXT
}

/// Marks a segment that is to be kept. What has been found out before stands if it says more.
fn keep(writer: &mut Writer, id: u32, mark: u32) {
    writer.update::<Segment>(id, |row| {
        if row.mark != KEPT_WITH_NEXT {
            row.mark = mark;
        }
    });
}

/// Marks a thread that is to be kept; while it lives it is.
fn keep_thread(writer: &mut Writer, id: u32) {
    if let Some(thread) = threads::row(writer, id)
        && thread.state().load(Relaxed) != thread_state::LIVE
    {
        thread.cache().store(1, Relaxed);
    }
}

/// What stands for a segment in the order that is left: itself, another, or 0.
fn stands_for(writer: &Writer, id: u32) -> u32 {
    match writer.get::<Segment>(id) {
        Some(row) if is_kept(row.mark) => id,
        Some(row) => row.mark,
        None => 0,
    }
}

/// Whether `peer` comes before what a segment has from its own thread, `row.prev`, which `prev`
/// stands for; and so does not need to be named.
fn comes_before(writer: &Writer, peer: u32, row: &Segment, prev: u32) -> bool {
    let thread_of = |id| writer.get::<Segment>(id).map_or(0, |row| row.thread);
    if row.thread != 0 && thread_of(peer) == row.thread {
        return true;
    }
    let mut open = [0; MOST_LOOKS];
    let (mut len, mut looks) = (1, 0);
    open[0] = prev;
    while len > 0 && looks < MOST_LOOKS {
        len -= 1;
        looks += 1;
        let at = open[len];
        if at == peer {
            return true;
        }
        // A segment's past has lower numbers.
        if at < peer {
            continue;
        }
        if thread_of(at) == thread_of(peer) && thread_of(at) != 0 {
            return true;
        }
        let Some(row) = writer.get::<Segment>(at) else { continue };
        for next in [row.prev, row.peer] {
            if next >= peer && len < MOST_LOOKS {
                open[len] = next;
                len += 1;
            }
        }
    }
    false
}

/// All rows of a table that is not numbered. How many there are.
fn each<R: Row>(writer: &mut Writer, f: impl Fn(&mut Writer, R)) -> u64 {
    let end = writer.len_of::<R>();
    for id in 1..end {
        if let Some(&row) = writer.get::<R>(id) {
            f(writer, row);
        }
    }
    end.into()
}
