//! The list of all segments, in the order in which they were made.

use lockwright_ledger::Writer;
use lockwright_ledger::rows::Segment;

/// Ends of the list. [`Segment::newer`] links it.
pub(crate) struct SegmentList {
    oldest: u32,
    newest: u32,
}

impl SegmentList {
    pub(super) const fn new() -> Self {
        Self { oldest: 0, newest: 0 }
    }

    /// Segment `id` was made.
    pub(super) fn add(&mut self, writer: &mut Writer, id: u32) {
        match core::mem::replace(&mut self.newest, id) {
            0 => self.oldest = id,
            before => writer.update::<Segment>(before, |row| row.newer = id),
        }
    }

    /// Calls `f` for each segment, from the oldest on.
    pub(crate) fn each(&self, writer: &mut Writer, mut f: impl FnMut(&mut Writer, u32, Segment)) {
        let mut next = self.oldest;
        while let Some(&row) = writer.get::<Segment>(next) {
            f(writer, next, row);
            next = row.newer;
        }
    }

    /// Removes the segments that do not stay, from the oldest on.
    pub(crate) fn retain(&mut self, writer: &mut Writer, stays: impl Fn(&Segment) -> bool) {
        let mut next = core::mem::take(&mut self.oldest);
        self.newest = 0;
        while let Some(&row) = writer.get::<Segment>(next) {
            next = row.newer;
            match stays(&row) {
                true => self.add(writer, row.id),
                false => writer.remove::<Segment>(row.id),
            }
        }
        writer.update::<Segment>(self.newest, |row| row.newer = 0);
    }
}
