//! Removal of the segments and threads that no other row needs, so that a program which makes threads
//! for ever has a ledger that stays as it is.
//!
//! A segment is *needed* if something refers to it: evidence, a finding, a hold that stays
//! (`ended_holds.rs`), a semaphore, a barrier, a thread that lives or may be joined, a creation under
//! way. The others tell only which of the needed ones come before which. So one that comes directly
//! after a single other is left out, and what comes after it comes after that other: the order of all
//! that is left stays exactly the same. One that comes directly after two others, neither of which
//! comes before the other, is kept. Where the reader follows segments that only end holds back to
//! what came before them, none of those is left out. What comes next to evidence in a thread is kept,
//! too: the reader looks there for what ended a segment.
//!
//! Readers may copy the ledger meanwhile, or find it as it was when the process was killed. So the
//! order of the segments that stay is the same after each store: first the holds go that do not stay.
//! Then the segments that stay come to do without the others, from the oldest on. Then the others go,
//! then threads. Between [`Writer::begin_removal`] and [`Writer::end_removal`] a copy may be of several
//! moments, and readers know by the header.
//!
//! It takes time in proportion to all rows, and is done when segments have doubled since
//! the last time. [`Segment::mark`] holds what is found out meanwhile.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::rows::object::ObjectFinding;
use lockwright_ledger::rows::{
    Evidence, Finding, Row, Segment, Step, Sync, Thread, Usage, segment_kind, tells_nobody,
    thread_state,
};
use lockwright_ledger::{Header, Writer};

use super::ended_holds::EndedHolds;
use super::holds::Holds;
use super::recorder::{SegmentList, threads};
use super::segment_marks::{
    EVIDENCE, KEPT, KEPT_WITH_NEXT, comes_before, is_kept, is_open_pass, keep, keep_alone, mark_of,
};
use super::thread::ThreadRow;

/// Segments before the first time, and more than the last time left.
const LEAST: u64 = 512;

/// When rows are removed.
pub(super) struct Reclaim {
    /// Segments at which it is done again.
    due_at: u64,
    /// It is done whenever a thread ends or is joined.
    is_eager: bool,
    pub(super) ended_holds: EndedHolds,
}

impl Reclaim {
    pub(super) const fn new() -> Self {
        Self { due_at: LEAST, is_eager: false, ended_holds: EndedHolds::new() }
    }

    /// Has it done whenever a thread ends or is joined, or when there is much again.
    pub(super) fn set_eager(&mut self, is_eager: bool) {
        self.is_eager = is_eager;
    }
}

/// What is looked at and changed at one time.
pub(super) struct Removal<'a> {
    pub(super) writer: &'a mut Writer,
    pub(super) segments: &'a mut SegmentList,
    pub(super) holds: &'a mut Holds,
    pub(super) reclaim: &'a mut Reclaim,
}

impl Removal<'_> {
    /// Takes off the record what is not needed, if there is much.
    pub(super) fn reclaim_if_due(&mut self) {
        let segments = self.writer.count_of::<Segment>();
        let is_due = segments >= self.reclaim.due_at
            || self.reclaim.ended_holds.is_due(self.writer, self.holds);
        if is_due || self.reclaim.is_eager {
            self.reclaim();
        }
    }

    #[cold]
    pub(super) fn reclaim(&mut self) {
        let mut looked_at = 0;
        self.segments
            .each(self.writer, |writer, id, _| writer.update::<Segment>(id, |row| row.mark = 0));
        threads::each(self.writer, |_, thread| {
            if thread.state().load(Relaxed) != thread_state::LIVE {
                thread.cache().store(0, Relaxed);
            }
        });
        self.keep_what_is_named(&mut looked_at);
        looked_at += self.reclaim.ended_holds.keep(self.writer, self.segments);
        self.keep_neighbours();
        self.keep_of_threads();
        self.writer.begin_removal();
        self.reclaim.ended_holds.remove(self.writer, self.segments, self.holds);
        self.shorten_ways();
        self.segments.retain(self.writer, |row| is_kept(row.mark));
        self.remove_threads();
        self.writer.end_removal();
        let left = self.writer.count_of::<Segment>();
        // What is looked at each time is paid for by what is made between two times.
        self.reclaim.due_at = 2 * left + LEAST.max(looked_at / 8);
    }

    /// Rows other than segments name some, and threads.
    fn keep_what_is_named(&mut self, looked_at: &mut u64) {
        let writer = &mut self.writer;
        *looked_at += each::<Evidence>(writer, |writer, row| {
            keep(writer, row.segment, EVIDENCE);
        });
        *looked_at += each::<Usage>(writer, |writer, row| {
            keep(writer, row.segment, EVIDENCE);
        });
        *looked_at += each::<Sync>(writer, |writer, row| {
            row.segments.iter().chain([&row.head]).for_each(|&id| keep(writer, id, KEPT));
        });
        *looked_at += each::<Finding>(writer, |writer, row| {
            keep(writer, row.segment, EVIDENCE);
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
        self.segments.each(self.writer, |writer, id, row| {
            use segment_kind::{
                CREATED, HANDED, INITIALISED, JOINED, OWNER_DIED, PASSED, RELEASED, SIGNALS, START,
            };
            let is_plain = match row.kind {
                PASSED => !is_open_pass(writer, &row),
                kind => matches!(
                    kind,
                    START
                        | CREATED
                        | JOINED
                        | OWNER_DIED
                        | INITIALISED
                        | SIGNALS
                        | RELEASED
                        | HANDED
                ),
            };
            if row.pins != 0 || !is_plain {
                keep(writer, id, KEPT_WITH_NEXT);
            }
            if mark_of(writer, row.prev) >= KEPT_WITH_NEXT {
                // The reader takes the end of a segment that only ended holds for that of the one
                // before it.
                keep(writer, id, if row.kind == PASSED { KEPT_WITH_NEXT } else { KEPT });
                // Which thread was joined there.
                keep(writer, row.peer, KEPT);
            }
            if mark_of(writer, id) >= KEPT_WITH_NEXT {
                keep(writer, row.prev, KEPT);
            }
        });
    }

    /// The current segment of each thread that others may come after, and where threads began that
    /// have segments left.
    fn keep_of_threads(&mut self) {
        self.segments.each(self.writer, |writer, _, row| {
            if is_kept(row.mark) {
                keep_thread(writer, row.thread);
            }
        });
        threads::each(self.writer, |writer, thread| {
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
        self.segments.each(self.writer, |writer, id, row| {
            let (mut prev, mut peer) = (stands_for(writer, row.prev), stands_for(writer, row.peer));
            // Which thread was joined, with what held, even if that thread was known to have ended.
            let names_joined =
                row.kind == segment_kind::JOINED && mark_of(writer, row.prev) >= KEPT_WITH_NEXT;
            let is_known = peer == prev || comes_before(writer, peer, &row, prev);
            if peer != 0 && is_known && !names_joined {
                peer = 0;
            }
            let is_own =
                |prev| writer.get::<Segment>(prev).is_some_and(|it| it.thread == row.thread);
            let is_others = prev != 0 && row.kind != segment_kind::MEETING && !is_own(prev);
            if is_others && peer != 0 && comes_before(writer, prev, &row, peer) {
                // All that the thread did before is left out, and what that came after comes before
                // `peer`.
                prev = 0;
            }
            if !is_kept(row.mark) && (prev == 0 || peer == 0) {
                writer.update::<Segment>(id, |row| row.mark = prev.max(peer));
                return;
            }
            let mut kind = row.kind;
            if !is_kept(row.mark) {
                keep_alone(writer, id, KEPT);
                // What is before it in the thread may be left out.
                if tells_nobody(kind) {
                    kind = segment_kind::START;
                }
            }
            if prev != 0 && is_others {
                // All that the thread did before is left out, except which other thread it came after.
                if peer == 0 {
                    (prev, peer, kind) = (0, prev, segment_kind::START);
                } else {
                    // That takes a segment of its own, as which the one before will do.
                    keep_alone(writer, row.prev, KEPT);
                    reorder(writer, row.prev, segment_kind::START, prev, 0);
                    prev = row.prev;
                }
            }
            reorder(writer, id, kind, peer, prev);
        });
    }

    fn remove_threads(&mut self) {
        self.segments.each(self.writer, |writer, _, row| keep_thread(writer, row.thread));
        threads::each(self.writer, |writer, thread| {
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
