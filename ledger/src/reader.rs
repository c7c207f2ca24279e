//! The reader: opens a ledger of a running, ended or killed process and decodes what was published.
//! It trusts no byte: a wrong offset or id yields `None` or fewer rows.

use std::fs::File;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::string::String;
use std::vec::Vec;
use std::{fmt, ptr};

use crate::file;
use crate::layout::{
    self, ANNEXES, FORMAT_VERSION, HEADER_BYTES, Header, KEPT_WORDS, MAGIC, MAX_EXTENTS,
    MAX_FRAMES, MAX_TEXT, TableId, annex, extent_rows, locate,
};
use crate::numbered;
use crate::rows::meter::{Meter, Metered};
use crate::rows::{
    Awaited, EVIDENCE_PER_NODE, Evidence, Held, Hold, Node, Row, Segment, Stack, StackWords, Text,
    Thread, event,
};

/// Why a file is not a readable ledger.
#[derive(Debug)]
pub enum OpenError {
    /// The file could not be read.
    Io(io::Error),
    /// It does not begin with a ledger's magic: not a ledger, or one whose process died at birth.
    NotALedger,
    /// Written by another version of lockwright.
    Version {
        /// The format version in the file; this reader's is [`FORMAT_VERSION`].
        found: u32,
    },
    /// Shorter than its own header.
    Truncated {
        /// Bytes there are.
        len: u64,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::NotALedger => f.write_str("not a lockwright ledger"),
            Self::Version { found } => {
                write!(f, "ledger format {found}, this lockwright reads format {FORMAT_VERSION}")
            }
            Self::Truncated { len } => write!(f, "truncated: only {len} bytes"),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A decoded header word: the plain value of the field of [`Header`] with the same name.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "documented at Header")]
pub struct HeaderValues {
    pub pid: u32,
    pub ppid: u32,
    pub engines: u32,
    pub state: u32,
    pub stopped: u32,
    pub deadlocks: u32,
    pub start_realtime_ns: u64,
    pub start_ns: u64,
    pub end_ns: u64,
    pub used: u64,
    pub lost: u64,
    pub locks_seen: u64,
    pub pairs_folded: u64,
    /// See [`crate::Header::allocations_lost`].
    pub allocations_lost: u64,
    pub token: u64,
    pub parent_token: u64,
    pub run: [u64; 2],
    pub forked_ns: u64,
    pub exe: Text,
    pub cmdline: Text,
    pub epoch: u32,
    pub clock: u32,
    pub clock_pairs: [u64; 4],
    pub hold_sample: u32,
    pub by_instance: u32,
    pub processors: u32,
    pub stamped: u32,
    pub unsafe_open: [u64; 3],
    pub timers_until_ns: u64,
    pub exit_code: u32,
    /// As [`Header::bounces`].
    pub bounces: u32,
    pub libc_version: u32,
    pub layouts_differing: u32,
    pub annexes: u32,
    pub annex_room: u32,
    /// See [`crate::Header::stopped_by`].
    pub stopped_by: u32,
    pub kept_used: u32,
    pub kept_dropped: u32,
    /// See [`crate::Header::start_cpu_ns`].
    pub start_cpu_ns: u64,
    /// See [`crate::Header::slow_entries`].
    pub slow_entries: u64,
    /// See [`crate::Header::slow_timed`].
    pub slow_timed: u64,
    /// See [`crate::Header::slow_cpu_ns`].
    pub slow_cpu_ns: u64,
    /// See [`crate::Header::bounded`].
    pub bounded: u32,
    /// See [`crate::Header::orders_until`].
    pub orders_until: u32,
    /// Threads that were ever watched: the rows of some may be gone.
    pub threads: u32,
    /// See [`crate::Header::removals`].
    pub removals: u32,
    /// See [`crate::Header::removed_acquisitions`].
    pub removed_acquisitions: u64,
    /// See [`crate::Header::removed_contended`].
    pub removed_contended: u64,
    /// See [`crate::Header::removed_events`].
    pub removed_events: [u64; event::ALL],
    /// See [`crate::Header::timeline_bytes`].
    pub timeline_bytes: u64,
    /// See [`crate::Header::timeline`].
    pub timeline: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Table {
    row_bytes: u64,
    base_rows: u64,
    len: u64,
    extents: [u64; MAX_EXTENTS],
}

/// A snapshot of one ledger.
#[derive(Debug)]
pub struct Ledger {
    bytes: Vec<u8>,
    header: HeaderValues,
    tables: [Table; crate::layout::MAX_TABLES],
    /// Bytes that the header says were used but that the file no longer has.
    pub(crate) missing: u64,
    /// Rows that claim more than there is.
    refused: u64,
    /// For each of [`numbered::TABLES`]: the rows by number, with their places.
    numbers: [Vec<(u32, u32)>; numbered::TABLES.len()],
    /// The process was removing rows all the while it was copied.
    pub(crate) is_torn: bool,
    /// Not of the file.
    generated: Vec<GeneratedCode>,
}

/// Code that the process has made while it ran. It lies in no module; what names it has is known
/// from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedCode {
    /// First address.
    pub start: u64,
    /// Bytes.
    pub len: u64,
    /// The name that its maker gave it.
    pub name: String,
}

/// What a glance at a ledger's file shows.
#[derive(Clone, Debug)]
pub struct Peek {
    /// The run that it is of.
    pub run: [u64; 2],
    /// The number of deadlocks in each part of the file.
    pub deadlocks: Vec<u32>,
}

/// Offset of a field of the header.
macro_rules! field {
    ($name:ident) => {
        std::mem::offset_of!(Header, $name)
    };
}

pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    bytes.get(offset..offset + 4).map_or(0, |b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]))
}

pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from(u32_at(bytes, offset)) << if cfg!(target_endian = "big") { 32 } else { 0 }
        | u64::from(u32_at(bytes, offset + 4)) << if cfg!(target_endian = "big") { 0 } else { 32 }
}

/// Opens a regular file: what else there may be under a ledger's name is none.
pub(crate) fn open_file(path: &Path) -> Result<File, OpenError> {
    file::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => OpenError::NotALedger,
        _ => error.into(),
    })
}

impl Ledger {
    /// Reads the ledger at `path`, as far as it has been written. Works on a live one.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Self::open_part(path, 0)
    }

    /// As [`Ledger::open`], of a part of the file: the first is 0, then come its annexes.
    ///
    /// # Errors
    /// See [`OpenError`]. An annex that the file has no room for is no ledger.
    pub fn open_part(path: &Path, part: u32) -> Result<Self, OpenError> {
        let file = open_file(path)?;
        let on_disk = file.metadata()?.len();
        let (offset, there) = layout::part(on_disk, part).ok_or(OpenError::NotALedger)?;
        Self::read(&file, offset, there)
    }

    /// The ledgers of processes that were forked by the one whose ledger is at `path`, or by those,
    /// where they could create no file: as far as they can be read.
    pub fn annexes(path: &Path) -> Vec<Self> {
        let parts = Self::peek(path).map_or(0, |peek| peek.deadlocks.len() as u32);
        (1..parts).filter_map(|part| Self::open_part(path, part).ok()).collect()
    }

    /// Forked processes that could create no ledger, nor get an annex of this one.
    pub fn turned_away(&self) -> u32 {
        self.header.annexes.saturating_sub(self.header.annex_room)
    }

    /// The ledger's bytes, as far as they are used.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The run that a ledger is of ([`Header::run`]), and the number of deadlocks in each part of
    /// its file, without reading the rest of it; works on a live one.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn peek(path: &Path) -> Result<Peek, OpenError> {
        const _: () =
            assert!(field!(run) < 240 && field!(deadlocks) < 252 && field!(annexes) < 252);
        let file = open_file(path)?;
        let on_disk = file.metadata()?.len();
        let head_at = |offset| -> Result<[u8; 256], OpenError> {
            let mut head = [0; 256];
            file.read_exact_at(&mut head, offset)?;
            Ok(head)
        };
        let head = head_at(0)?;
        if u64_at(&head, field!(magic)) != MAGIC {
            return Err(OpenError::NotALedger);
        }
        let mut deadlocks = vec![u32_at(&head, field!(deadlocks))];
        for index in 0..u32_at(&head, field!(annexes)).min(ANNEXES) {
            let Some((offset, _)) = annex(on_disk, index) else { break };
            // One that is being born has none yet.
            deadlocks.push(u32_at(&head_at(offset)?, field!(deadlocks)));
        }
        let run = std::array::from_fn(|i| u64_at(&head, field!(run) + 8 * i));
        Ok(Peek { run, deadlocks })
    }

    pub(crate) fn check(head: &[u8]) -> Result<(), OpenError> {
        if head.len() < 16 || u64_at(head, field!(magic)) != MAGIC {
            return Err(OpenError::NotALedger);
        }
        let found = u32_at(head, field!(version));
        if found != FORMAT_VERSION {
            return Err(OpenError::Version { found });
        }
        if head.len() < HEADER_BYTES {
            return Err(OpenError::Truncated { len: head.len() as u64 });
        }
        Ok(())
    }

    /// Decodes a ledger that is in memory.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, OpenError> {
        Self::decoded(bytes, None)
    }

    /// As [`Ledger::from_bytes`], without rows of the numbered tables that have higher numbers than
    /// these.
    pub(crate) fn decoded(
        bytes: Vec<u8>,
        last_numbers: Option<[u32; numbered::TABLES.len()]>,
    ) -> Result<Self, OpenError> {
        Self::check(&bytes)?;
        let b = &bytes;
        let text_at = |offset| Text { offset: u32_at(b, offset), len: u32_at(b, offset + 4) };
        let header = HeaderValues {
            pid: u32_at(b, field!(pid)),
            ppid: u32_at(b, field!(ppid)),
            engines: u32_at(b, field!(engines)),
            state: u32_at(b, field!(state)),
            stopped: u32_at(b, field!(stopped)),
            deadlocks: u32_at(b, field!(deadlocks)),
            start_realtime_ns: u64_at(b, field!(start_realtime_ns)),
            start_ns: u64_at(b, field!(start_ns)),
            end_ns: u64_at(b, field!(end_ns)),
            used: u64_at(b, field!(used)),
            lost: u64_at(b, field!(lost)),
            locks_seen: u64_at(b, field!(locks_seen)),
            pairs_folded: u64_at(b, field!(pairs_folded)),
            allocations_lost: u64_at(b, field!(allocations_lost)),
            token: u64_at(b, field!(token)),
            parent_token: u64_at(b, field!(parent_token)),
            run: std::array::from_fn(|i| u64_at(b, field!(run) + 8 * i)),
            forked_ns: u64_at(b, field!(forked_ns)),
            exe: text_at(field!(exe)),
            cmdline: text_at(field!(cmdline)),
            epoch: u32_at(b, field!(epoch)),
            clock: u32_at(b, field!(clock)),
            clock_pairs: std::array::from_fn(|i| u64_at(b, field!(clock_pairs) + 8 * i)),
            hold_sample: u32_at(b, field!(hold_sample)),
            by_instance: u32_at(b, field!(by_instance)),
            processors: u32_at(b, field!(processors)),
            stamped: u32_at(b, field!(stamped)),
            unsafe_open: std::array::from_fn(|i| u64_at(b, field!(unsafe_open) + 8 * i)),
            timers_until_ns: u64_at(b, field!(timers_until_ns)),
            exit_code: u32_at(b, field!(exit_code)),
            bounces: u32_at(b, field!(bounces)),
            libc_version: u32_at(b, field!(libc_version)),
            layouts_differing: u32_at(b, field!(layouts_differing)),
            annexes: u32_at(b, field!(annexes)),
            stopped_by: u32_at(b, field!(stopped_by)),
            kept_used: u32_at(b, field!(kept_used)),
            kept_dropped: u32_at(b, field!(kept_dropped)),
            annex_room: u32_at(b, field!(annex_room)),
            start_cpu_ns: u64_at(b, field!(start_cpu_ns)),
            slow_entries: u64_at(b, field!(slow_entries)),
            slow_timed: u64_at(b, field!(slow_timed)),
            slow_cpu_ns: u64_at(b, field!(slow_cpu_ns)),
            bounded: u32_at(b, field!(bounded)),
            orders_until: u32_at(b, field!(orders_until)),
            // The tables' order is that of `numbered::TABLES`; a row's number is how many there were by then.
            threads: u32_at(b, field!(last_numbers)),
            removals: u32_at(b, field!(removals)),
            removed_acquisitions: u64_at(b, field!(removed_acquisitions)),
            removed_contended: u64_at(b, field!(removed_contended)),
            removed_events: std::array::from_fn(|i| u64_at(b, field!(removed_events) + 8 * i)),
            timeline_bytes: u64_at(b, field!(timeline_bytes)),
            timeline: u64_at(b, field!(timeline)),
        };
        let mut tables = [Table::default(); crate::layout::MAX_TABLES];
        for (i, table) in tables.iter_mut().enumerate() {
            let at = field!(tables) + i * size_of::<crate::layout::TableHeader>();
            use crate::layout::TableHeader as T;
            table.row_bytes = u64::from(u32_at(b, at + std::mem::offset_of!(T, row_bytes)));
            table.base_rows = u64::from(u32_at(b, at + std::mem::offset_of!(T, base_rows)));
            table.len = u64_at(b, at + std::mem::offset_of!(T, len));
            for (k, extent) in table.extents.iter_mut().enumerate() {
                *extent = u64_at(b, at + std::mem::offset_of!(T, extents) + 8 * k);
            }
        }
        let missing = header.used.saturating_sub(bytes.len() as u64);
        let (numbers, generated) = (Default::default(), Vec::new());
        let (refused, is_torn) = (0, false);
        let mut ledger =
            Self { bytes, header, tables, missing, refused, numbers, is_torn, generated };
        ledger.numbers = [
            ledger.numbers_of::<Thread>(),
            ledger.numbers_of::<Segment>(),
            ledger.numbers_of::<Hold>(),
            ledger.numbers_of::<Awaited>(),
        ];
        if let Some(last) = last_numbers {
            ledger.leave_out_newer(last);
        }
        ledger.refused = ledger.settle_claims();
        Ok(ledger)
    }

    /// The code that the process made, in the order in which it did.
    pub fn generated_code(&self) -> &[GeneratedCode] {
        &self.generated
    }

    /// Adds what is known of the code that the process made.
    pub fn set_generated_code(&mut self, code: Vec<GeneratedCode>) {
        self.generated = code;
    }

    /// Records that processes could leave nowhere else ([`crate::Header::kept_records`]).
    pub fn kept_records(&self) -> impl Iterator<Item = &[u8]> {
        let start = field!(kept_records);
        let room = KEPT_WORDS * size_of::<u64>();
        let bytes = &self.bytes[start..start + room.min(self.header.kept_used as usize)];
        bytes.split(|&byte| byte == 0).filter(|record| !record.is_empty())
    }

    /// The header's values.
    pub fn header(&self) -> &HeaderValues {
        &self.header
    }

    /// Bytes that were used in the ledger but are not in the file: it was cut short.
    pub fn missing_bytes(&self) -> u64 {
        self.missing
    }

    /// Rows that claim bytes which others have claimed already, so that together they would have
    /// more than the file has: it is damaged, or made up. That is left out of them.
    pub fn refused_rows(&self) -> u64 {
        self.refused
    }

    /// The process was removing rows each time that its ledger was copied: orders of threads may be
    /// missing.
    pub fn is_torn(&self) -> bool {
        self.is_torn
    }

    /// Leaves out rows of the numbered tables with higher numbers, and evidence of such segments.
    fn leave_out_newer(&mut self, last: [u32; numbered::TABLES.len()]) {
        for (numbers, last) in self.numbers.iter_mut().zip(last) {
            numbers.truncate(numbers.partition_point(|&(number, _)| number <= last));
        }
        let [_, last, ..] = last;
        let newer: Vec<(u32, Evidence)> =
            self.rows::<Evidence>().filter(|(_, row)| row.segment > last).collect();
        for (id, row) in newer {
            self.clear_word(TableId::Evidence, id, size_of::<Evidence>() as u64, 0);
            // It may have taken the place of another piece.
            let node = self.get::<Node>(row.node).filter(|node| node.folded == 0);
            if node.is_some_and(|node| node.evidence_len >= EVIDENCE_PER_NODE) {
                let folded = std::mem::offset_of!(Node, folded);
                self.set_word(TableId::Nodes, row.node, size_of::<Node>() as u64, folded, 1);
            }
        }
    }

    /// The bytes of the extents of a table, as far as they are there.
    pub(crate) fn table_bytes(&self, id: TableId) -> impl Iterator<Item = &[u8]> {
        let table = &self.tables[id as usize];
        let (base, row_bytes) = (table.base_rows, table.row_bytes);
        table.extents.iter().enumerate().take_while(|(_, at)| **at != 0).filter_map(
            move |(k, &at)| {
                let from = usize::try_from(at).ok()?;
                let bytes = extent_rows(k, base).checked_mul(row_bytes)?;
                let to = from.saturating_add(usize::try_from(bytes).ok()?).min(self.bytes.len());
                self.bytes.get(from..to)
            },
        )
    }

    /// The rows of a numbered table by number. If several claim one number, the first counts.
    fn numbers_of<R: Row>(&self) -> Vec<(u32, u32)> {
        let number = |place| {
            let bytes = self.raw(R::TABLE, u64::from(place), size_of::<R>() as u64)?;
            let is_published = u32_at(bytes, 0) != 0;
            is_published.then(|| (u32_at(bytes, R::NUMBER_AT), place)).filter(|row| row.0 != 0)
        };
        let mut numbers: Vec<_> = (1..self.end_of::<R>()).filter_map(number).collect();
        numbers.sort_unstable();
        numbers.dedup_by_key(|row| row.0);
        numbers
    }

    /// Numbers and places of the rows of a table that is numbered.
    fn numbered(&self, id: TableId) -> Option<&Vec<(u32, u32)>> {
        let i = numbered::TABLES.iter().position(|&table| table == id)?;
        Some(&self.numbers[i])
    }

    /// Where the row lies that others refer to as `id`.
    fn index_of(&self, table: TableId, id: u32) -> Option<u32> {
        let Some(numbers) = self.numbered(table) else { return Some(id) };
        let i = numbers.binary_search_by_key(&id, |row| row.0).ok()?;
        Some(numbers[i].1)
    }

    /// Where row `index` lies.
    fn place(&self, id: TableId, index: u64, row_bytes: u64) -> Option<Range<usize>> {
        let table = &self.tables[id as usize];
        if table.row_bytes != row_bytes || table.base_rows == 0 || index >= table.len {
            return None;
        }
        let (extent, row) = locate(index, table.base_rows);
        let start = *table.extents.get(extent).filter(|&&offset| offset != 0)?;
        let from = usize::try_from(start.checked_add(row.checked_mul(row_bytes)?)?).ok()?;
        Some(from..from.checked_add(row_bytes as usize)?)
    }

    /// The bytes of row `index`, if all of them are there.
    fn raw(&self, id: TableId, index: u64, row_bytes: u64) -> Option<&[u8]> {
        self.bytes.get(self.place(id, index, row_bytes)?)
    }

    /// The word at `offset` of row `index`.
    pub(crate) fn word(&self, id: TableId, index: u32, row_bytes: u64, offset: usize) -> u32 {
        let index = self.index_of(id, index).unwrap_or(0);
        self.raw(id, index.into(), row_bytes).map_or(0, |bytes| u32_at(bytes, offset))
    }

    /// Makes that word zero in what was read.
    pub(crate) fn clear_word(&mut self, id: TableId, index: u32, row_bytes: u64, offset: usize) {
        self.set_word(id, index, row_bytes, offset, 0);
    }

    /// Changes that word in what was read.
    fn set_word(&mut self, id: TableId, index: u32, row_bytes: u64, offset: usize, word: u32) {
        let index = self.index_of(id, index).unwrap_or(0);
        let place = self.place(id, index.into(), row_bytes);
        if let Some(bytes) = place.and_then(|place| self.bytes.get_mut(place)) {
            bytes[offset..offset + 4].copy_from_slice(&word.to_ne_bytes());
        }
    }

    /// Rows of a table, as far as the file can have them.
    pub(crate) fn table_len(&self, id: TableId) -> u64 {
        let table = &self.tables[id as usize];
        table.len.min(self.bytes.len() as u64 / table.row_bytes.max(1))
    }

    /// The published row `id`; `None` for 0, for a row that is not there or was never finished.
    pub fn get<R: Row>(&self, id: u32) -> Option<R> {
        if id == 0 {
            return None;
        }
        let index = self.index_of(R::TABLE, id)?;
        let bytes = self.raw(R::TABLE, u64::from(index), size_of::<R>() as u64)?;
        let row = decode::<R>(bytes);
        (u32_at(bytes, 0) != 0).then_some(row)
    }

    /// All published rows of a table with their ids, in order.
    pub fn rows<R: Row>(&self) -> impl Iterator<Item = (u32, R)> + '_ {
        let numbers = self.numbered(R::TABLE).map_or(&[][..], Vec::as_slice);
        let places = 1..if R::NUMBER_AT == 0 { self.end_of::<R>() } else { 1 };
        let ids = places.chain(numbers.iter().map(|row| row.0));
        ids.filter_map(|id| Some((id, self.get::<R>(id)?)))
    }

    /// Places of a table that may have a row end here.
    fn end_of<R: Row>(&self) -> u32 {
        let table = &self.tables[R::TABLE as usize];
        // A damaged `len` must not make us walk four billion absent rows.
        let mut there = 0u64;
        if table.base_rows != 0 {
            for (k, &extent) in table.extents.iter().enumerate() {
                if extent == 0 || extent >= self.bytes.len() as u64 {
                    break;
                }
                there = there.saturating_add(extent_rows(k, table.base_rows));
            }
        }
        let most = self.bytes.len() as u64 / size_of::<R>() as u64;
        table.len.min(there).min(most + 1).min(u64::from(u32::MAX)) as u32
    }

    /// Rows handed out in a table, written or not.
    pub fn len_of<R: Row>(&self) -> u64 {
        self.tables[R::TABLE as usize].len.saturating_sub(1)
    }

    /// Text, with anything that is not UTF-8 replaced.
    pub fn text(&self, text: Text) -> String {
        String::from_utf8_lossy(&self.raw_text(text)).into_owned()
    }

    /// Text as bytes; shorter where the file is damaged.
    pub fn raw_text(&self, text: Text) -> Vec<u8> {
        let len = u64::from(text.len.min(MAX_TEXT));
        let first = u64::from(text.offset);
        let place = |i| self.place(TableId::Bytes, first + i, 1);
        // Nearly all lie in one extent.
        if let Some((from, to)) =
            len.checked_sub(1).and_then(|last| Some((place(0)?, place(last)?)))
            // The second of two extents may come first in the file.
            && to.end.checked_sub(from.start).is_some_and(|between| between as u64 == len)
            && let Some(bytes) = self.bytes.get(from.start..to.end)
        {
            return bytes.to_vec();
        }
        (0..len).map_while(|i| self.raw(TableId::Bytes, first + i, 1)).map(|byte| byte[0]).collect()
    }

    /// Return address `index` of the frame table.
    pub fn frame(&self, index: u32) -> Option<u64> {
        self.raw(TableId::Frames, u64::from(index), 8).map(|b| u64_at(b, 0))
    }

    /// The return addresses of stack `id`, innermost first, and the module epoch they belong to.
    pub fn stack(&self, id: u32) -> Option<(Vec<u64>, u32)> {
        let stack = self.get::<Stack>(id)?;
        let frames = (0..stack.len.min(MAX_FRAMES as u32))
            .map_while(|i| self.frame(stack.first.checked_add(i)?))
            .collect();
        Some((frames, stack.epoch))
    }

    /// What a thread held when the snapshot was taken, outermost first.
    pub fn held(&self, thread: &Thread) -> Vec<Held> {
        self.entries::<Held>(&thread.held).filter(|held| held.addr != 0).collect()
    }

    /// What a thread held when the snapshot was taken, as lockmeter has it, outermost first. With
    /// each, the id of its [`Cell`](crate::rows::meter::Cell).
    pub fn metered(&self, meter: &Meter) -> Vec<(Metered, u32)> {
        // Where the process has the file's beginning mapped.
        let mapping = meter.held.base.wrapping_sub(meter.held.offset);
        self.entries::<Metered>(&meter.held)
            .filter(|held| held.addr != 0)
            .filter_map(|held| {
                let cell = self.id_at(TableId::Cells, held.cell.wrapping_sub(mapping))?;
                Some((held, cell))
            })
            .collect()
    }

    /// The elements of a thread's stack of held locks, outermost first.
    fn entries<T: Copy + 'static>(&self, words: &StackWords) -> impl Iterator<Item = T> + '_ {
        let (offset, size) = (words.offset, size_of::<T>() as u64);
        (1..=words.depth::<T>())
            .map_while(move |i| {
                let from = usize::try_from(offset.checked_add(i * size)?).ok()?;
                self.bytes.get(from..from.checked_add(size as usize)?)
            })
            .map(decode::<T>)
    }

    /// Id of the row of a table that begins at a file offset.
    fn id_at(&self, id: TableId, offset: u64) -> Option<u32> {
        let table = &self.tables[id as usize];
        let mut first = 0u64;
        for (k, &extent) in table.extents.iter().enumerate().filter(|_| table.row_bytes != 0) {
            let rows = extent_rows(k, table.base_rows);
            if let Some(within) = offset.checked_sub(extent)
                && extent != 0
                && within / table.row_bytes < rows
            {
                let aligned = within.is_multiple_of(table.row_bytes);
                let index = first + within / table.row_bytes;
                return u32::try_from(index).ok().filter(|_| aligned && index < table.len);
            }
            first = first.checked_add(rows)?;
        }
        None
    }
}

/// Bytes up to the last data in the `there` bytes of the file from `offset` on; all of them where
/// the file system cannot tell. Data after a hole of gigabytes does not count: a process writes its
/// ledger without any, and a file of one page must not take all memory.
pub(crate) fn stored_bytes(file: &File, offset: u64, there: u64) -> u64 {
    use std::os::fd::AsRawFd;
    unsafe extern "C" {
        fn lseek(fd: i32, offset: i64, whence: i32) -> i64;
    }
    const SEEK_DATA: i32 = 3;
    const SEEK_HOLE: i32 = 4;
    let (Ok(start), Ok(limit)) = (i64::try_from(offset), i64::try_from(offset + there)) else {
        return there;
    };
    let mut end = start;
    let mut data_bytes = 0;
    while end < limit {
        // SAFETY: lseek on a descriptor we own; nothing relies on its position.
        let data = unsafe { lseek(file.as_raw_fd(), end, SEEK_DATA) };
        if data < 0 {
            // ENXIO: no more data. EINVAL: not supported, then it is still the first.
            return if end == start { there } else { (end - start) as u64 };
        }
        if data >= limit {
            break;
        }
        // SAFETY: lseek gets a descriptor that we own, and nothing relies on its position.
        let hole = unsafe { lseek(file.as_raw_fd(), data, SEEK_HOLE) };
        if hole <= data {
            return there;
        }
        data_bytes += (hole.min(limit) - data) as u64;
        if (hole.min(limit) - start) as u64 > file::most_for(data_bytes) {
            break;
        }
        end = hole;
    }
    (end.min(limit) - start) as u64
}

/// Copies a row out of bytes of exactly its size.
fn decode<T: Copy>(bytes: &[u8]) -> T {
    assert_eq!(bytes.len(), size_of::<T>());
    let mut value = MaybeUninit::<T>::uninit();
    // SAFETY: T is a row, Held or Metered: integers without padding, so any bytes are a value;
    // sizes agree.
    unsafe {
        ptr::copy_nonoverlapping(bytes.as_ptr(), value.as_mut_ptr().cast::<u8>(), bytes.len());
        value.assume_init()
    }
}
