//! Removal of the holds that no verdict depends on any more. A server that creates each thread with a
//! lock held that the thread takes makes one hold for each request.
//!
//! The reader uses a hold in four ways. Each one has a reason to keep it, and the others go:
//!
//! - A thread passes it, and comes after its end. The segment that begins there names the hold, and
//!   the reader looks up its end. For a hold that has ended we store that end in the segment. What
//!   is left of that is an order of segments, which `reclaim.rs` knows how to shorten. The hold
//!   stays as long as a thread awaits it, or may come to: it is in a list of a live thread, of the
//!   creator of a thread that has not begun, of a thread that can be joined, of a post or barrier.
//! - It keeps others apart: what happens within it does not meet its lock. So does a hold from
//!   which, by its lock, follows that other things are over. Both are about segments between its
//!   beginning and its end: those that come before its end, though not before its beginning. If
//!   there is neither evidence in them nor the beginning of another hold that is kept, it is of no
//!   use, and will not be: nothing is added to a segment that others come after.
//! - Holds that overlap keep others apart together. They are in one [`Hold::run`], of which all stay
//!   or none.
//! - It shows which locks were held where a segment with evidence ended. So it stays if it began in
//!   such a segment, or if a thread passed it at the end of such a segment.
//!
//! Where a search would take too long, the hold stays. Holds have a bound (`bounds.rs`).

use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::Writer;
use lockwright_ledger::rows::{Awaited, Hold, Row, Segment, Sync, segment_kind, thread_state};

use super::bounds::{MOST_HOLDS, MOST_IN_LISTS, MOST_PASSES};
use super::holds::{Holds, MOST_AWAITED, hold_key, list_key, run_of};
use super::recorder::{SegmentList, threads};
use super::segment_marks::{
    BEGINS_HOLD, EVIDENCE, KEPT_WITH_NEXT, comes_before, is_open_pass, keep, mark_of,
};
use super::thread::ThreadRow;

/// [`Hold::mark`], as bits: it stays.
const STAYS: u32 = 1;
/// A thread may come to await it.
const AWAITED: u32 = 2;
/// One of its run stays; at the hold that stands for the run.
const RUN_STAYS: u32 = 4;

/// [`Hold::queue`]: the last of the queue.
const END: u32 = u32::MAX;

/// Segments looked at to learn whether any lies between the beginning of a hold and its end.
const MOST_BETWEEN: usize = 64;

/// Segments of its thread before the beginning of a hold of which we know what they come after.
const MOST_FLOORS: usize = 8;

/// Rounds in which holds stay for the sake of others. After that all do.
const MOST_ROUNDS: u32 = 16;

/// When holds are removed, and what tests plant.
pub(super) struct EndedHolds {
    /// The counts of [`counts`] at any of which it is done again.
    due_at: [u64; 3],
    /// The planted fault: each hold goes that has ended.
    goes_too_early: bool,
}

/// A count before the first time, and what is added to it before the next time at least.
const LEAST: u64 = 512;

impl EndedHolds {
    pub(super) const fn new() -> Self {
        Self { due_at: [LEAST; 3], goes_too_early: false }
    }

    /// There are many holds, passes or elements of lists again.
    pub(super) fn is_due(&self, writer: &Writer, holds: &Holds) -> bool {
        counts(writer, holds).iter().zip(&self.due_at).any(|(count, due_at)| count >= due_at)
    }

    /// Has each hold removed that has ended, whatever depends on it: a fault that tests must find.
    pub(super) fn remove_too_early(&mut self) {
        self.goes_too_early = true;
    }

    /// Marks the holds that stay, and segments for them. The segments of evidence are marked.
    /// Returns how many places were looked at.
    pub(super) fn keep(&self, writer: &mut Writer, segments: &SegmentList) -> u64 {
        let mut looked_at = each_at::<Hold>(writer, |writer, hold| {
            writer.update::<Hold>(hold.id, |row| (row.mark, row.queue) = (0, 0));
        });
        looked_at += each_at::<Awaited>(writer, |writer, list| {
            writer.update::<Awaited>(list.id, |row| row.mark = 0);
        });
        let mut is_sure = true;
        segments.each(writer, |writer, id, row| {
            is_sure &= row.kind != segment_kind::POSTED;
            // Where a condition wait ends that ended a hold, which the reader takes for evidence.
            if row.kind == segment_kind::RELEASED && mark_of(writer, row.prev) == EVIDENCE {
                keep(writer, id, EVIDENCE);
            }
        });
        keep_awaited(writer, segments);
        let goes_too_early = self.goes_too_early;
        each_at::<Hold>(writer, |writer, hold| {
            let is_open = hold.last == 0 && is_live(writer, hold.thread);
            let is_awaited = hold.mark & AWAITED != 0;
            let shows_locks = mark_of(writer, hold.first) == EVIDENCE;
            if is_open || !goes_too_early && (is_awaited || shows_locks) {
                stay(writer, hold.id);
            }
        });
        pass_ended(writer, segments, is_sure);
        if !goes_too_early {
            keep_between(writer);
        }
        looked_at
    }

    /// Removes the holds that do not stay, and the lists that nobody looks at.
    pub(super) fn remove(
        &mut self,
        writer: &mut Writer,
        segments: &SegmentList,
        holds: &mut Holds,
    ) {
        let index = &mut holds.index;
        each_at::<Hold>(writer, |writer, hold| {
            if hold.mark & STAYS != 0 {
                return;
            }
            let key = hold_key(hold.thread, hold.inst);
            // Its thread has ended with the lock held.
            if hold.last == 0 && index.get(writer, key) == Some(hold.id) {
                index.remove(writer, key);
            }
            writer.remove::<Hold>(hold.id);
        });
        each_at::<Awaited>(writer, |writer, list| {
            if list.mark == 0 {
                index.remove(writer, list_key(list.hold, list.next));
                writer.remove::<Awaited>(list.id);
            }
        });
        let mut passes = 0;
        segments.each(writer, |_, _, row| passes += u32::from(row.kind == segment_kind::PASSED));
        holds.passes = passes;
        let left = counts(writer, holds);
        self.due_at = core::array::from_fn(|i| due_after(left[i], BOUNDS[i]));
    }
}

/// What has a bound: holds, segments that begin with a passed hold, and elements of lists.
fn counts(writer: &Writer, holds: &Holds) -> [u64; 3] {
    [writer.count_of::<Hold>(), holds.passes.into(), writer.count_of::<Awaited>()]
}

/// The bounds of [`counts`].
const BOUNDS: [u64; 3] = [MOST_HOLDS, MOST_PASSES as u64, MOST_IN_LISTS];

/// The count at which a removal that left so many is done again. A removal takes time in proportion to all
/// rows, and rows near their bound need it sooner.
fn due_after(left: u64, bound: u64) -> u64 {
    let near_bound = bound - bound / 8;
    (left + LEAST.max(left / 2)).min(near_bound.max(left + LEAST))
}

/// Marks the lists that a thread may look at, and the holds in them.
fn keep_awaited(writer: &mut Writer, segments: &SegmentList) {
    let mut queue = END;
    segments.each(writer, |writer, _, row| {
        if row.pins != 0 {
            keep_list(writer, row.awaited, &mut queue);
        }
    });
    let list_of = |writer: &Writer, id| writer.get::<Segment>(id).map_or(0, |row| row.awaited);
    threads::each(writer, |writer, thread| {
        let list = match thread.state().load(Relaxed) {
            thread_state::LIVE => thread.awaited().load(Relaxed),
            thread_state::EXITED => list_of(writer, thread.segment().load(Relaxed)),
            _ => 0,
        };
        keep_list(writer, list, &mut queue);
    });
    for id in 1..writer.len_of::<Sync>() {
        let Some(&Sync { segments, head, .. }) = writer.get::<Sync>(id) else { continue };
        for mut at in segments.into_iter().chain([head]) {
            while let Some(&Segment { kind, peer, prev, awaited, .. }) = writer.get(at) {
                keep_list(writer, awaited, &mut queue);
                if kind != segment_kind::MEETING {
                    break;
                }
                let list = list_of(writer, peer);
                keep_list(writer, list, &mut queue);
                at = prev;
            }
        }
    }
    // A thread that passes such a hold comes after its end, and awaits what is awaited there.
    while let Some(&Hold { queue: next, last, .. }) = writer.get::<Hold>(queue) {
        queue = next;
        let list = list_of(writer, last);
        keep_list(writer, list, &mut queue);
    }
}

/// Stores what comes before the segments that begin with an ended hold. If a semaphore may have
/// ordered them only the reader knows that; then the hold stays.
fn pass_ended(writer: &mut Writer, segments: &SegmentList, is_sure: bool) {
    segments.each(writer, |writer, id, row| {
        if row.kind != segment_kind::PASSED {
            return;
        }
        let Some(&hold) = writer.get::<Hold>(row.sync) else { return };
        let is_after =
            || is_sure || comes_before(writer, hold.first, &Segment::default(), row.prev);
        if row.peer == 0 && hold.last != 0 && hold.last < id && is_after() {
            writer.set::<Segment>(id, |row| &mut row.peer, hold.last);
        } else if row.peer == 0 && (hold.last != 0 || is_live(writer, hold.thread)) {
            stay(writer, hold.id);
        }
        if mark_of(writer, row.prev) == EVIDENCE {
            stay(writer, hold.id);
        }
    });
}

/// Keeps the holds between whose beginning and end lies what verdicts are about.
fn keep_between(writer: &mut Writer) {
    for round in 0.. {
        let mut is_news = false;
        each_at::<Hold>(writer, |writer, hold| {
            if hold.mark & STAYS != 0 {
                return;
            }
            let run = run_of(writer, hold.id);
            let run_stays = writer.get::<Hold>(run).is_some_and(|it| it.mark & RUN_STAYS != 0);
            if run_stays || round >= MOST_ROUNDS || encloses(writer, &hold) {
                stay(writer, hold.id);
                is_news = true;
            }
        });
        if !is_news {
            return;
        }
    }
}

/// The hold stays, with its segments. So does its run.
fn stay(writer: &mut Writer, id: u32) {
    let Some(&Hold { first, last, .. }) = writer.get::<Hold>(id) else { return };
    writer.update::<Hold>(id, |row| row.mark |= STAYS);
    keep(writer, first, BEGINS_HOLD);
    keep(writer, last, KEPT_WITH_NEXT);
    let run = run_of(writer, id);
    writer.update::<Hold>(run, |row| row.mark |= RUN_STAYS);
}

/// A thread may look at the list. Queues the holds in it that are new.
fn keep_list(writer: &mut Writer, mut list: u32, queue: &mut u32) {
    for _ in 0..MOST_AWAITED {
        let Some(&Awaited { hold, next, .. }) = writer.get::<Awaited>(list) else { return };
        writer.update::<Awaited>(list, |row| row.mark = 1);
        let head = *queue;
        writer.update::<Hold>(hold, |row| {
            if row.mark & AWAITED == 0 {
                row.mark |= AWAITED;
                row.queue = head;
                *queue = hold;
            }
        });
        list = next;
    }
}

/// Whether anything that a verdict may be about comes before the end of the hold and not before its
/// beginning; or may, if that takes long to find out.
fn encloses(writer: &Writer, hold: &Hold) -> bool {
    if hold.last == 0 {
        return false;
    }
    let floors = floors(writer, hold.first);
    let mut open = [0; MOST_BETWEEN];
    let (mut len, mut looks) = (0, 0);
    let mut at = hold.last;
    while at != hold.first {
        let Some(row) = writer.get::<Segment>(at).filter(|_| at > hold.first) else { return true };
        if row.thread != hold.thread || is_relevant(writer, row) || looks == MOST_BETWEEN {
            return true;
        }
        if row.peer != 0 {
            open[len] = row.peer;
            len += 1;
        }
        looks += 1;
        at = row.prev;
    }
    while len > 0 {
        len -= 1;
        // What is not there any more stands for nothing.
        let Some(row) = writer.get::<Segment>(open[len]) else { continue };
        let is_before = |&(thread, last): &(u32, u32)| thread == row.thread && row.id <= last;
        // The loop above looked at the segments of the thread itself.
        if row.thread == hold.thread || row.thread != 0 && floors.iter().any(is_before) {
            continue;
        }
        if is_relevant(writer, row) || looks == MOST_BETWEEN || len + 2 > MOST_BETWEEN {
            return true;
        }
        looks += 1;
        for next in [row.prev, row.peer] {
            if next != 0 {
                open[len] = next;
                len += 1;
            }
        }
    }
    false
}

/// Segments of other threads that come before a segment, with their threads: those that its own
/// thread came after most recently.
fn floors(writer: &Writer, mut at: u32) -> [(u32, u32); MOST_FLOORS] {
    let mut floors = [(0, 0); MOST_FLOORS];
    let mut len = 0;
    for _ in 0..2 * MOST_FLOORS {
        let Some(row) = writer.get::<Segment>(at) else { break };
        let peer = writer.get::<Segment>(row.peer).map_or((0, 0), |peer| (peer.thread, peer.id));
        if peer.0 != 0 && len < MOST_FLOORS {
            floors[len] = peer;
            len += 1;
        }
        at = row.prev;
    }
    floors
}

/// A verdict may be about the segment, or the reader knows more than we do of what comes before it.
fn is_relevant(writer: &Writer, row: &Segment) -> bool {
    row.mark >= BEGINS_HOLD || row.kind == segment_kind::POSTED || is_open_pass(writer, row)
}

fn is_live(writer: &Writer, thread: u32) -> bool {
    let live = |row: ThreadRow| row.state().load(Relaxed) == thread_state::LIVE;
    threads::row(writer, thread).is_some_and(live)
}

/// All rows of a numbered table. How many places there are.
fn each_at<R: Row>(writer: &mut Writer, mut f: impl FnMut(&mut Writer, R)) -> u64 {
    let end = writer.len_of::<R>();
    for place in 1..end {
        let row = writer.place_ptr::<R>(place);
        // SAFETY: a place below the table's length, which stays mapped. Its row begins with its
        // state, and `&mut` excludes other writers.
        let row = unsafe { (row.cast::<u32>().read() != 0).then(|| row.read()) };
        if let Some(row) = row {
            f(writer, row);
        }
    }
    end.into()
}
