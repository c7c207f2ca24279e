//! Marks of segments while rows are removed: which stay, and why.
//!
//! Only `reclaim.rs` and `ended_holds.rs` use [`Segment::mark`]. Each of the two marks segments for the other one.

use lockwright_ledger::Writer;
use lockwright_ledger::rows::{Hold, Segment, segment_kind, tells_nobody};

/// Marks of segments that are kept; other values of [`Segment::mark`] are the number of the segment
/// that stands for one that is left out, 0 if none does.
pub(super) const KEPT: u32 = u32::MAX - 3;
/// As [`KEPT`], with the thread's segments before and after it.
pub(super) const KEPT_WITH_NEXT: u32 = u32::MAX - 2;
/// As [`KEPT_WITH_NEXT`]; a hold that stays begins there.
pub(super) const BEGINS_HOLD: u32 = u32::MAX - 1;
/// As [`KEPT_WITH_NEXT`]; verdicts may be about it.
pub(super) const EVIDENCE: u32 = u32::MAX;

/// Segments looked at to learn whether one comes before another. If that takes more it counts as
/// not known, and both are kept.
const MOST_LOOKS: usize = 64;

pub(super) const fn is_kept(mark: u32) -> bool {
    mark >= KEPT
}

/// Marks a segment that is to be kept. What has been found out before stands if it says more.
///
/// The reader follows segments that only end holds back to the one before them.
pub(super) fn keep(writer: &mut Writer, id: u32, mark: u32) {
    keep_alone(writer, id, mark);
    let mut at = id;
    while let Some(row) = writer.get::<Segment>(at)
        && tells_nobody(row.kind)
    {
        at = row.prev;
        if writer.get::<Segment>(at).is_some_and(|row| is_kept(row.mark)) {
            return;
        }
        keep_alone(writer, at, KEPT);
    }
}

/// As [`keep`], for this segment only.
pub(super) fn keep_alone(writer: &mut Writer, id: u32, mark: u32) {
    writer.update::<Segment>(id, |row| row.mark = row.mark.max(mark));
}

/// The mark of a segment, 0 if there is no such segment.
pub(super) fn mark_of(writer: &Writer, id: u32) -> u32 {
    writer.get::<Segment>(id).map_or(0, |row| row.mark)
}

/// The reader is to find out what comes before the segment.
pub(super) fn is_open_pass(writer: &Writer, row: &Segment) -> bool {
    row.kind == segment_kind::PASSED && row.peer == 0 && writer.get::<Hold>(row.sync).is_some()
}

/// Whether `peer` comes before what a segment has from its own thread, `row.prev`, which `prev`
/// stands for; and so does not need to be named.
pub(super) fn comes_before(writer: &Writer, peer: u32, row: &Segment, prev: u32) -> bool {
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
