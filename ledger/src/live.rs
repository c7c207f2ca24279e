//! Copies of a ledger that its process may be writing to.
//!
//! Rows that are only ever added need no care: the table's length lies before the rows, so a copy has
//! of each table what there was when the copy began, and everything that those rows refer to. Rows of
//! numbered tables come and go, and two things could go wrong:
//!
//! - A row is removed while the copy is made. The copy may then have a row that refers to it and not
//!   the one that took its place, and an order is missing. The header counts removals
//!   ([`Header::removals`]): such a copy is thrown away.
//! - A row is added at a place that was copied before, and a later one at a place that was not. The
//!   copy then has the later row without what came before it. So rows with numbers beyond those that
//!   the header had before the copy ([`Header::last_numbers`]) are left out.
//!
//! A process that was killed in a removal leaves the count odd for ever. The stores of a removal come
//! in such an order that after each of them the ledger is whole; so two equal copies of its segments
//! are as good as one outside of a removal.

use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use crate::layout::{HEADER_BYTES, Header, TableId};
use crate::numbered;
use crate::reader::{Ledger, OpenError, stored_bytes, u32_at, u64_at};

/// Copies that are made at most. A removal takes a small part of the time between two, so the second
/// or third will do.
const MOST_COPIES: u32 = 64;

/// Time between two of them: a removal may just have begun.
const PAUSE: Duration = Duration::from_micros(500);

/// What a ledger is copied from.
pub trait Source {
    /// Reads bytes from offset `at` of the ledger on.
    ///
    /// # Errors
    /// If they cannot all be read.
    fn read(&mut self, bytes: &mut [u8], at: u64) -> io::Result<()>;

    /// Bytes up to the last that was written.
    fn stored(&mut self) -> u64;

    /// Time passes until the next copy.
    fn pause(&mut self) {
        std::thread::sleep(PAUSE);
    }
}

/// The header's numbers about numbered tables.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Moment {
    removals: u32,
    last_numbers: [u32; numbered::TABLES.len()],
}

impl Moment {
    fn of(head: &[u8]) -> Self {
        let last = |i| u32_at(head, offset_of!(Header, last_numbers) + 4 * i);
        Self {
            removals: u32_at(head, offset_of!(Header, removals)),
            last_numbers: std::array::from_fn(last),
        }
    }

    /// A removal is under way.
    fn is_in_removal(self) -> bool {
        self.removals & 1 == 1
    }
}

impl Ledger {
    /// Reads the ledger that begins at `offset` and has up to `there` bytes.
    pub(crate) fn read(file: &File, offset: u64, there: u64) -> Result<Self, OpenError> {
        Self::copy(&mut Part { file, offset, there }, there)
    }

    /// Reads a ledger that has up to `there` bytes, and may be written to meanwhile.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn copy(source: &mut impl Source, there: u64) -> Result<Self, OpenError> {
        let header_bytes = HEADER_BYTES.min(usize::try_from(there).unwrap_or(usize::MAX));
        let mut head = vec![0; header_bytes];
        source.read(&mut head, 0)?;
        Self::check(&head)?;
        let mut before = Moment::of(&head);
        let mut last: Option<(Moment, Self)> = None;
        for _ in 0..MOST_COPIES {
            let used = u64_at(&head, offset_of!(Header, used));
            // The file is a hole beyond `used`; a damaged `used` must not make us read a 64 GiB
            // hole.
            let wanted = used.min(source.stored()).max(HEADER_BYTES as u64);
            let bytes = usize::try_from(wanted).map_err(|_| OpenError::NotALedger)?;
            let mut bytes = vec![0; bytes];
            source.read(&mut bytes, 0)?;
            // What the last extent has no rows in yet is a hole, too, and nothing that is missing.
            let mut copy = Self::decoded(bytes, Some(before.last_numbers))?;
            copy.missing = used.saturating_sub(there);
            source.read(&mut head, 0)?;
            let after = Moment::of(&head);
            let is_same = |(moment, other): &(Moment, Self)| {
                moment.removals == after.removals && copy.has_same_segments(other)
            };
            if before.removals == after.removals
                && (!before.is_in_removal() || last.as_ref().is_some_and(is_same))
            {
                return Ok(copy);
            }
            last = Some((before, copy));
            before = after;
            source.pause();
        }
        let (_, mut copy) = last.ok_or(OpenError::NotALedger)?;
        copy.is_torn = true;
        Ok(copy)
    }

    /// Whether the other copy has the same bytes where segments are.
    fn has_same_segments(&self, other: &Self) -> bool {
        self.table_bytes(TableId::Segments).eq(other.table_bytes(TableId::Segments))
    }
}

/// A ledger in a file.
struct Part<'f> {
    file: &'f File,
    offset: u64,
    there: u64,
}

impl Source for Part<'_> {
    fn read(&mut self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        self.file.read_exact_at(bytes, self.offset + at)
    }

    fn stored(&mut self) -> u64 {
        stored_bytes(self.file, self.offset, self.there)
    }
}
