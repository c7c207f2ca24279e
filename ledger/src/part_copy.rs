//! A few tables of a ledger that its process may be writing to, without the rest. A whole copy of a
//! large ledger takes too long to be made several times a second.

use std::mem::{offset_of, size_of};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::vec;
use std::vec::Vec;

use crate::layout::{
    self, HEADER_BYTES, Header, MAX_EXTENTS, MAX_TABLES, TableHeader, TableId, extent_rows,
};
use crate::numbered;
use crate::reader::{Ledger, OpenError, open_file, stored_bytes, u32_at, u64_at};

/// How far a ledger has grown. Two equal ones: no row was added between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growth {
    /// By table.
    rows: Vec<u64>,
    last_numbers: [u32; numbered::TABLES.len()],
    deadlocks: u32,
}

/// Tables whose rows no finding is made of: those of lockmeter, counters, and texts.
const NO_EVIDENCE: &[TableId] = &[
    TableId::Sites,
    TableId::Cells,
    TableId::Buckets,
    TableId::Carries,
    TableId::Blames,
    TableId::Boards,
    TableId::Readers,
    TableId::Meters,
    TableId::DebugCounts,
    TableId::ClassOps,
    TableId::Bytes,
];

/// Where the header of a table lies.
const fn table_at(id: usize) -> usize {
    offset_of!(Header, tables) + id * size_of::<TableHeader>()
}

impl Ledger {
    /// How far a part of the file (as for [`Ledger::open_part`]) has grown in what findings are made of.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn growth(path: &Path, part: u32) -> Result<Growth, OpenError> {
        let file = open_file(path)?;
        let (offset, _) =
            layout::part(file.metadata()?.len(), part).ok_or(OpenError::NotALedger)?;
        let mut head = vec![0; HEADER_BYTES];
        file.read_exact_at(&mut head, offset)?;
        Self::check(&head)?;
        let is_evidence = |id: &usize| !NO_EVIDENCE.iter().any(|&other| other as usize == *id);
        let len = |id| u64_at(&head, table_at(id) + offset_of!(TableHeader, len));
        let last = |i| u32_at(&head, offset_of!(Header, last_numbers) + 4 * i);
        Ok(Growth {
            rows: (0..MAX_TABLES).filter(is_evidence).map(len).collect(),
            last_numbers: std::array::from_fn(last),
            deadlocks: u32_at(&head, offset_of!(Header, deadlocks)),
        })
    }

    /// Reads the header and some tables of a part of the file; the others are empty. Rows may be of
    /// different moments.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open_tables(path: &Path, part: u32, tables: &[TableId]) -> Result<Self, OpenError> {
        let file = open_file(path)?;
        let (offset, there) =
            layout::part(file.metadata()?.len(), part).ok_or(OpenError::NotALedger)?;
        let mut head = vec![0; HEADER_BYTES];
        file.read_exact_at(&mut head, offset)?;
        Self::check(&head)?;
        let stored = stored_bytes(&file, offset, there);
        let mut wanted = Vec::new();
        for id in 0..MAX_TABLES {
            let at = table_at(id);
            if !tables.iter().any(|&table| table as usize == id) {
                head[at..at + size_of::<TableHeader>()].fill(0);
                continue;
            }
            let row_bytes = u64::from(u32_at(&head, at + offset_of!(TableHeader, row_bytes)));
            let base = u64::from(u32_at(&head, at + offset_of!(TableHeader, base_rows)));
            for extent in 0..MAX_EXTENTS {
                let from = u64_at(&head, at + offset_of!(TableHeader, extents) + 8 * extent);
                let bytes = extent_rows(extent, base).checked_mul(row_bytes);
                let to = bytes.and_then(|bytes| from.checked_add(bytes)).map(|to| to.min(stored));
                match to {
                    Some(to) if from != 0 && from < to => wanted.push((from, to)),
                    _ => break,
                }
            }
        }
        let end = wanted.iter().map(|&(_, to)| to).fold(HEADER_BYTES as u64, u64::max);
        // What is not read stays a page of zeros that takes no memory.
        let mut bytes = vec![0; usize::try_from(end).map_err(|_| OpenError::NotALedger)?];
        bytes[..HEADER_BYTES].copy_from_slice(&head);
        for (from, to) in wanted {
            file.read_exact_at(&mut bytes[from as usize..to as usize], offset + from)?;
        }
        Self::decoded(bytes, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::PAGE;
    use crate::rows::{Class, Thread, thread_state};
    use crate::writer::Writer;
    use std::fs;

    #[test]
    fn a_table_is_read_alone_and_growth_is_seen() {
        const BYTES: usize = 400 * PAGE;
        let words = vec![0u64; BYTES / 8 + PAGE / 8].leak();
        let at = words.as_mut_ptr().map_addr(|at| at.next_multiple_of(PAGE)).cast::<u8>();
        // SAFETY: `BYTES` zeroed bytes from a page's begin on, which are leaked.
        let mut writer = unsafe { Writer::create(at, BYTES, |_, _| Ok(()), |_| {}) }.unwrap();
        let path = std::env::temp_dir().join(std::format!("lw-part-{}", std::process::id()));
        let write = || {
            // SAFETY: the bytes above, which the writer does not change meanwhile.
            let bytes = unsafe { std::slice::from_raw_parts(at, BYTES) };
            fs::write(&path, bytes).unwrap();
        };
        for tid in 1..40 {
            let thread = Thread { tid, ..Thread::default() };
            writer.push_with_state(thread, thread_state::LIVE).unwrap();
        }
        write();
        let before = Ledger::growth(&path, 0).unwrap();
        writer.push(Class::default()).unwrap();
        write();
        let ledger = Ledger::open_tables(&path, 0, &[TableId::Threads]).unwrap();
        let tids: Vec<u32> = ledger.rows::<Thread>().map(|(_, row)| row.tid).collect();
        assert_eq!(tids, (1..40).collect::<Vec<u32>>());
        assert_eq!(ledger.rows::<Class>().count(), 0, "it was not asked for");
        assert_ne!(before, Ledger::growth(&path, 0).unwrap());
        let text = writer.text(b"a name is no evidence");
        assert!(text.len > 0);
        let before = Ledger::growth(&path, 0).unwrap();
        write();
        assert_eq!(before, Ledger::growth(&path, 0).unwrap());
        fs::remove_file(&path).unwrap();
    }
}
