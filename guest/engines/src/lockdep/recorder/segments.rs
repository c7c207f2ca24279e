//! Segments of threads: what a thread does between two events that order it with others.

use lockwright_ledger::rows::{Segment, tells_nobody};

use super::Recorder;
use crate::lockdep::thread::ThreadState;

impl Recorder {
    /// The thread is in a new segment of this kind, which comes after `peer`, too.
    pub(crate) fn begin_segment(
        &mut self,
        thread: &mut ThreadState,
        kind: u32,
        peer: u32,
        stack: u32,
        sync: u32,
    ) {
        let row = Segment {
            thread: thread.id(),
            kind,
            prev: thread.segment(),
            peer,
            stack,
            sync,
            ..Segment::default()
        };
        let told_before = thread.row.told_before;
        if let Some(id) = self.push_segment(row) {
            thread.set_segment(id);
            if tells_nobody(kind) {
                thread.row.told_before = told_before;
            }
        }
    }

    /// Records a segment, the newest.
    pub(crate) fn push_segment(&mut self, row: Segment) -> Option<u32> {
        let id = self.writer.push(row)?;
        self.segments.add(&mut self.writer, id);
        Some(id)
    }

    /// Threads that are still to come may come after the segment.
    pub(crate) fn pin_segment(&mut self, id: u32) {
        self.writer.update::<Segment>(id, |row| row.pins += 1);
    }

    /// One of those that kept the segment needs it no more.
    pub(crate) fn unpin_segment(&mut self, id: u32) {
        self.writer.update::<Segment>(id, |row| row.pins = row.pins.saturating_sub(1));
    }
}
