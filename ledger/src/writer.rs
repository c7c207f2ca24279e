//! The writer: hands out rows of a mapped file. It allocates nothing but file space, never blocks
//! and never panics; where there is no room it counts the loss and says `None`.
//!
//! All methods take `&mut self`: the host holds one lock around them. What is written without that
//! lock (counters, the held array) is reached through [`Writer::row_ptr`] by the one thread it
//! belongs to.

use core::mem::size_of;
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering::*, fence};

use crate::layout::{
    FORMAT_VERSION, HEADER_BYTES, Header, MAGIC, MAX_EXTENTS, MAX_TABLES, MAX_TEXT, PAGE,
    TableHeader, TableId, extent_rows, locate, stopped,
};
use crate::numbered::{self, Numbers};
use crate::rows::{Row, Text};

/// Makes `len` bytes at `at` writable and backed by storage, or says why it cannot: one of
/// [`stopped`].
pub type Commit = fn(at: *mut u8, len: usize) -> Result<(), u32>;

/// Size classes of freed extents: powers of two of pages.
const FREE_CLASSES: usize = 24;

/// An extent gets its storage in pieces of this size, as its rows are handed out: extents double,
/// and the last is half empty on average. Small enough to commit in no time, with the host's lock
/// held; large enough that rows seldom wait for it.
const PIECE: u64 = 64 << 10;

/// What takes no more than this shares pages with others: many ledgers are of processes that do
/// little, as children that take one lock, and each page costs them time.
const SMALL: usize = PAGE / 2;

/// What is small begins at multiples of this, so that no row lies in more cache lines than it must.
const SMALL_ALIGN: usize = 64;

/// The first small things share this much behind the header, which gets its storage by the same
/// call of the kernel: what a process writes that takes one lock.
const FIRST_SMALL: usize = 2 * PAGE;

/// Bytes and frames that the first extents of their tables hold.
const BASE_BYTES: u32 = 512;
const BASE_FRAMES: u32 = 64;

/// Writes one ledger.
pub struct Writer {
    base: *mut u8,
    len: usize,
    commit: Commit,
    /// File offset up to which the newest extent of each table has storage; those before it have
    /// all theirs.
    stored: [u64; MAX_TABLES],
    /// Offsets of freed extents by size class, linked through their first word.
    free: [u64; FREE_CLASSES],
    /// What is left of the pages that small things are in: offsets of the first free byte and of
    /// their end.
    small: [u64; 2],
    /// The last numbers of [`numbered::TABLES`].
    numbers: [Numbers; numbered::TABLES.len()],
    #[cfg(feature = "steps")]
    look: Option<fn(&Self)>,
}

// SAFETY: the writer owns its mapping; access is serialised by the host's lock around `&mut self`.
unsafe impl Send for Writer {}

impl Writer {
    /// Starts a ledger in `len` zeroed bytes at `base` and publishes its header.
    ///
    /// `fill` sets the header's fields that only the host knows. Returns `None` where not even the
    /// header and the first rows fit.
    ///
    /// # Safety
    /// `base` is page aligned; the range is valid, writable after `commit`, zero, and belongs to
    /// this writer until the process ends.
    pub unsafe fn create(
        base: *mut u8,
        len: usize,
        commit: Commit,
        fill: impl FnOnce(&Header),
    ) -> Option<Self> {
        let first = HEADER_BYTES + FIRST_SMALL;
        if len < first + 16 * PAGE || commit(base, first).is_err() {
            return None;
        }
        let (stored, free) = ([0; MAX_TABLES], [0; FREE_CLASSES]);
        let small = [HEADER_BYTES as u64, first as u64];
        let numbers = [const { Numbers::new() }; numbered::TABLES.len()];
        let mut writer = Self {
            base,
            len,
            commit,
            stored,
            free,
            small,
            numbers,
            #[cfg(feature = "steps")]
            look: None,
        };
        let header = writer.header();
        header.version.store(FORMAT_VERSION, Relaxed);
        header.header_bytes.store(HEADER_BYTES as u32, Relaxed);
        header.used.store(first as u64, Relaxed);
        fill(header);
        // Byte and frame 0 are burnt so that 0 means "none" there as in every other table.
        writer.reserve_raw(TableId::Bytes, 1, BASE_BYTES, 1)?;
        writer.reserve_raw(TableId::Frames, 8, BASE_FRAMES, 1)?;
        // Pairs with the Acquire of a reader that looks at the magic first.
        writer.header().magic.store(MAGIC, Release);
        Some(writer)
    }

    /// The file's header.
    #[inline]
    pub fn header(&self) -> &Header {
        // SAFETY: `create` committed its pages at `base`; Header is all atomics, zero is valid.
        unsafe { &*self.base.cast::<Header>() }
    }

    fn table(&self, table: TableId) -> &TableHeader {
        &self.header().tables[table as usize]
    }

    /// Counts a row that could not be written for `reason`.
    #[cold]
    fn lose(&self, reason: u32) {
        self.header().lost.fetch_add(1, Relaxed);
        self.header().stop(reason);
    }

    /// Counts a row that the ledger is too short for.
    #[cold]
    fn lose_for_length(&self) {
        self.lose(match self.header().limited_by.load(Relaxed) {
            stopped::NO => stopped::LEDGER_FULL,
            limit => limit,
        });
    }

    /// Allocates `bytes`, zeroed; if they are not few, in whole pages of their own. Returns the
    /// file offset.
    pub fn alloc(&mut self, bytes: usize) -> Option<u64> {
        if bytes <= SMALL {
            return self.alloc_small(bytes);
        }
        let pages = bytes.div_ceil(PAGE).next_power_of_two();
        let class = pages.ilog2() as usize;
        let stored = bytes.next_multiple_of(PAGE);
        if let Some(&offset) = self.free.get(class).filter(|&&offset| offset != 0) {
            let at = self.at(offset);
            // SAFETY: a freed extent of this class: its first page is committed, and it is nobody
            // else's.
            self.free[class] = unsafe { at.cast::<u64>().read() };
            // The text that was there before may have needed less of it.
            self.store(offset, offset + stored as u64)?;
            // SAFETY: `store` just committed these `stored` bytes of the freed extent, which nobody
            // else uses.
            unsafe { ptr::write_bytes(at, 0, stored) };
            return Some(offset);
        }
        let used = self.header().used.load(Relaxed);
        let end = self.end_of(used, pages * PAGE)?;
        self.store(used, used + stored as u64)?;
        self.use_up_to(end);
        Some(used)
    }

    /// As [`Writer::alloc`] of up to [`SMALL`] bytes, rounded up to [`SMALL_ALIGN`].
    fn alloc_small(&mut self, bytes: usize) -> Option<u64> {
        let bytes = bytes.next_multiple_of(SMALL_ALIGN) as u64;
        let [next, end] = self.small;
        let [offset, end] = match end - next >= bytes {
            true => [next, end],
            false => self.alloc(PAGE).map(|page| [page, page + PAGE as u64])?,
        };
        self.small = [offset + bytes, end];
        Some(offset)
    }

    /// Sets `bytes` aside, rounded up to whole pages, without storage. Returns the file offset.
    fn set_aside(&mut self, bytes: usize) -> Option<u64> {
        let used = self.header().used.load(Relaxed);
        let end = self.end_of(used, bytes.next_multiple_of(PAGE))?;
        self.use_up_to(end);
        Some(used)
    }

    /// Where `size` bytes from `offset` on end, if that is within the file.
    fn end_of(&self, offset: u64, size: usize) -> Option<u64> {
        let end = offset.checked_add(size as u64).filter(|&end| end <= self.len as u64);
        if end.is_none() {
            self.lose_for_length();
        }
        end
    }

    fn use_up_to(&self, end: u64) {
        // A reader takes nothing beyond `used` for granted; offsets published later are below it.
        // Pairs with the reader's Acquire of `used`.
        self.header().used.store(end, Release);
    }

    /// Gives the pages between two offsets storage.
    fn store(&self, from: u64, to: u64) -> Option<()> {
        (self.commit)(self.at(from), (to - from) as usize).map_err(|reason| self.lose(reason)).ok()
    }

    /// Gives back what [`Writer::alloc`] returned for the same `bytes`. Nobody may use it any more.
    pub fn free(&mut self, offset: u64, bytes: usize) {
        let class = bytes.div_ceil(PAGE).max(1).next_power_of_two().ilog2() as usize;
        // What is small is not worth a list: it is given back when it is doubled, which it is not
        // often.
        if bytes > SMALL && class < FREE_CLASSES {
            // SAFETY: the extent came from `alloc`, is at least a page and no longer in use.
            unsafe { self.at(offset).cast::<u64>().write(self.free[class]) };
            self.free[class] = offset;
        }
    }

    /// Bytes that the ledger can have.
    pub fn room(&self) -> u64 {
        self.len as u64
    }

    /// Address of file offset `offset`, which came from this writer.
    #[inline]
    pub fn at(&self, offset: u64) -> *mut u8 {
        debug_assert!((offset as usize) < self.len);
        // SAFETY: offsets handed out lie within the mapping.
        unsafe { self.base.add(offset as usize) }
    }

    /// File offset of an address within the mapping.
    #[inline]
    pub fn offset_of(&self, at: *const u8) -> u64 {
        (at as usize - self.base as usize) as u64
    }

    /// Reserves `n` consecutive indices of a table and makes sure that there is storage for them.
    fn reserve_raw(&mut self, id: TableId, row_bytes: u32, base: u32, n: u64) -> Option<u64> {
        let table = self.table(id);
        if table.row_bytes.load(Relaxed) == 0 {
            table.base_rows.store(base, Relaxed);
            table.row_bytes.store(row_bytes, Release);
        }
        let first = table.len.load(Relaxed);
        let last = first.checked_add(n)?.checked_sub(1)?;
        if last > u64::from(u32::MAX) {
            self.lose(stopped::LEDGER_FULL);
            return None;
        }
        let (from, _) = locate(first, u64::from(base));
        let (to, last_row) = locate(last, u64::from(base));
        if to >= MAX_EXTENTS {
            self.lose(stopped::LEDGER_FULL);
            return None;
        }
        for extent in from..=to {
            let bytes = extent_rows(extent, u64::from(base)) * u64::from(row_bytes);
            if self.table(id).extents[extent].load(Relaxed) == 0 {
                let is_small = bytes <= SMALL as u64;
                let offset = match is_small {
                    true => self.alloc_small(bytes as usize)?,
                    false => self.set_aside(bytes as usize)?,
                };
                self.stored[id as usize] = if is_small { offset + bytes } else { offset };
                // Pairs with the reader's Acquire: the extent is within `used` before it is named.
                self.table(id).extents[extent].store(offset, Release);
            }
            let offset = self.table(id).extents[extent].load(Relaxed);
            let needed = if extent == to { (last_row + 1) * u64::from(row_bytes) } else { bytes };
            self.store_rows(id, offset + needed, offset + bytes)?;
        }
        // Pairs with the reader's Acquire: rows below `len` have an extent, and storage.
        self.table(id).len.store(last + 1, Release);
        Some(first)
    }

    /// Makes sure that the table has storage up to offset `needed`, in an extent that ends at
    /// `end`.
    fn store_rows(&mut self, id: TableId, needed: u64, end: u64) -> Option<()> {
        let stored = self.stored[id as usize];
        if needed > stored {
            let to = needed.max(stored + PIECE).min(end).next_multiple_of(PAGE as u64);
            self.store(stored, to)?;
            self.stored[id as usize] = to;
        }
        Some(())
    }

    fn raw_ptr(&self, id: TableId, index: u64) -> *mut u8 {
        let table = self.table(id);
        let base = u64::from(table.base_rows.load(Relaxed));
        let row_bytes = u64::from(table.row_bytes.load(Relaxed));
        let (extent, row) = locate(index, base.max(1));
        self.at(table.extents[extent].load(Relaxed) + row * row_bytes)
    }

    /// Publishes `row` with state [`crate::rows::WRITTEN`] and returns its id (never 0), or `None`
    /// (and counts it lost) where there is no room.
    pub fn push<R: Row>(&mut self, row: R) -> Option<u32> {
        self.push_with_state(row, crate::rows::WRITTEN)
    }

    /// As [`Writer::push`], with the given non-zero state.
    pub fn push_with_state<R: Row>(&mut self, mut row: R, state: u32) -> Option<u32> {
        let (index, id) = match R::NUMBER_AT {
            0 => self.new_place::<R>().map(|index| (index, index))?,
            number_at => {
                let (index, number) = self.numbered_place::<R>()?;
                // SAFETY: the row's own promise of where its number lies.
                unsafe { ptr::from_mut(&mut row).byte_add(number_at).cast::<u32>().write(number) };
                (index, number)
            }
        };
        let at = self.raw_ptr(R::TABLE, index.into()).cast::<R>();
        // SAFETY: `Row` promises that the row begins with its u32 state.
        unsafe { ptr::from_mut(&mut row).cast::<u32>().write(0) };
        match R::SHARED {
            // SAFETY: there is room for this row, and nobody has its id yet.
            false => unsafe { at.write(row) },
            // SAFETY: there is room for this row, and nobody has its id yet.
            true => unsafe { write_words(at, &row) },
        }
        // SAFETY: the state word of the row just written; aligned, as rows are.
        let word = unsafe { AtomicU32::from_ptr(at.cast::<u32>()) };
        // Pairs with the reader's Acquire of the state: the payload above is complete.
        word.store(state, Release);
        if R::NUMBER_AT != 0 {
            // Pairs with the read of a reader that then copies the file: it finds the row.
            self.header().last_numbers[numbered_table::<R>()].store(id, Release);
        }
        self.stored_one();
        Some(id)
    }

    /// Makes room for a row at the end of its table.
    fn new_place<R: Row>(&mut self) -> Option<u32> {
        let bytes = size_of::<R>() as u32;
        if self.len_of::<R>() == 0 {
            // Row 0 is burnt: 0 means "none". It stays unpublished.
            self.reserve_raw(R::TABLE, bytes, R::BASE_ROWS, 1)?;
        }
        self.reserve_raw(R::TABLE, bytes, R::BASE_ROWS, 1).map(|index| index as u32)
    }

    /// Makes room for a row of a numbered table, where one was before if possible. Its place and
    /// its number.
    fn numbered_place<R: Row>(&mut self) -> Option<(u32, u32)> {
        let table = numbered_table::<R>();
        let Some(number) = self.numbers[table].next() else {
            self.lose(stopped::LEDGER_FULL);
            return None;
        };
        if let Some(bytes) = self.numbers[table].wants() {
            let slots = self.alloc(bytes)?;
            let at = self.at(slots);
            // SAFETY: allocated just now: zeroed, and as many as wanted.
            if let Some((old, bytes)) = unsafe { self.numbers[table].grow(at) } {
                self.free(self.offset_of(old), bytes);
            }
        }
        let place = match self.numbers[table].free {
            0 => self.new_place::<R>()?,
            place => {
                let at = self.raw_ptr(R::TABLE, place.into());
                // SAFETY: a place on the list, whose rows link to the next behind their state.
                self.numbers[table].free = unsafe { at.cast::<u32>().add(1).read() };
                place
            }
        };
        self.numbers[table].insert(place);
        Some((place, number))
    }

    /// Takes a row of a numbered table off the record. Its place is used again; its number is not.
    pub fn remove<R: Row>(&mut self, id: u32) {
        let table = numbered_table::<R>();
        let Some(place) = self.numbers[table].remove(id) else { return };
        let at = self.raw_ptr(R::TABLE, place.into()).cast::<u32>();
        let next = core::mem::replace(&mut self.numbers[table].free, place);
        // SAFETY: the row's state, which is accessed atomically by readers.
        let state = unsafe { AtomicU32::from_ptr(at) };
        // A reader that finds the row half overwritten finds it unpublished. The fence keeps what
        // is written to it later behind this store, as seen through another mapping of the file.
        state.store(0, Relaxed);
        fence(Release);
        self.stored_one();
        // SAFETY: the row is nobody's any more, and longer than two words. Relaxed: a thread that still has
        // its address looks at its words, of which the state says that they mean nothing.
        unsafe { AtomicU32::from_ptr(at.add(1)) }.store(next, Relaxed);
    }

    /// Rows are about to be removed, and others changed to do without them. A copy that a reader
    /// makes from here to [`Writer::end_removal`] may have some as before and some as after.
    pub fn begin_removal(&mut self) {
        let removals = &self.header().removals;
        // Relaxed: the only writer of the word.
        removals.store(removals.load(Relaxed) | 1, Relaxed);
        // Pairs with a reader's second look at the word: a copy that has any of the stores that
        // follow was made after this one.
        fence(Release);
    }

    /// The removal is over.
    pub fn end_removal(&mut self) {
        let removals = &self.header().removals;
        // Release, pairs with a reader's first look at the word: its copy has all stores before this.
        removals.store((removals.load(Relaxed) | 1).wrapping_add(1), Release);
    }

    /// Changes one word of a row, behind all stores before it: what a process that is killed leaves
    /// of several such changes is the first ones.
    pub fn set<R: Row>(&mut self, id: u32, word: impl FnOnce(&mut R) -> &mut u32, value: u32) {
        const { assert!(!R::SHARED, "no reference to a row that other threads write") };
        // SAFETY: `row_ptr` is null or a mapped row, and `&mut self` excludes the other writers.
        let Some(row) = (unsafe { self.row_ptr::<R>(id).as_mut() }) else { return };
        let word = word(row);
        if *word == value {
            return;
        }
        // SAFETY: a word of a mapped row, aligned, as the reference says.
        // Release, pairs with a reader's Acquire by its copy: the stores before are there, too.
        unsafe { AtomicU32::from_ptr(word) }.store(value, Release);
        self.stored_one();
    }

    /// A store that readers may see by itself is done. Only tests look.
    #[inline(always)]
    fn stored_one(&mut self) {
        #[cfg(feature = "steps")]
        if let Some(look) = self.look {
            look(self);
        }
    }

    /// Has `look` called after each store that a reader may see by itself, of those that come and go
    /// with the rows of numbered tables.
    #[cfg(feature = "steps")]
    pub fn look_at_each_step(&mut self, look: Option<fn(&Self)>) {
        self.look = look;
    }

    /// The ledger's bytes, as far as they are used.
    #[cfg(feature = "steps")]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: mapped up to there; nobody else writes while the writer is borrowed.
        unsafe { core::slice::from_raw_parts(self.base, self.header().used.load(Relaxed) as usize) }
    }

    /// Rows of a table that have not been removed.
    pub fn count_of<R: Row>(&self) -> u64 {
        match R::NUMBER_AT {
            0 => u64::from(self.len_of::<R>()).saturating_sub(1),
            _ => self.numbers[numbered_table::<R>()].len(),
        }
    }

    /// Rows of the table so far, the burnt row 0 included.
    #[inline]
    pub fn len_of<R: Row>(&self) -> u32 {
        self.table(R::TABLE).len.load(Relaxed) as u32
    }

    /// The row `id`, or `None` if there is no such row.
    #[inline]
    pub fn get<R: Row>(&self, id: u32) -> Option<&R> {
        const { assert!(!R::SHARED, "no reference to a row that other threads write") };
        // SAFETY: `row_ptr` is null or a row of the table, which stays mapped; rows are integers.
        unsafe { self.row_ptr::<R>(id).as_ref() }
    }

    /// Address of row `id`, null if there is no such row. Stable until the row is removed.
    #[inline]
    pub fn row_ptr<R: Row>(&self, id: u32) -> *mut R {
        let place = match R::NUMBER_AT {
            0 => id,
            _ => self.numbers[numbered_table::<R>()].place(id).unwrap_or(0),
        };
        self.ptr_at(place)
    }

    /// Address of the row at a place, null if there is none.
    fn ptr_at<R: Row>(&self, place: u32) -> *mut R {
        if place == 0 || place >= self.len_of::<R>() {
            return ptr::null_mut();
        }
        self.raw_ptr(R::TABLE, u64::from(place)).cast::<R>()
    }

    /// Addresses of the rows of a table by their places, those that are off the record among them: their
    /// state is 0. Null if there is none.
    pub fn place_ptr<R: Row>(&self, place: u32) -> *mut R {
        self.ptr_at::<R>(place)
    }

    /// Changes a row that says it may change. Readers see each word old or new.
    #[inline]
    pub fn update<R: Row>(&mut self, id: u32, change: impl FnOnce(&mut R)) {
        const { assert!(!R::SHARED, "no reference to a row that other threads write") };
        // SAFETY: `row_ptr` is null or a mapped row; `&mut self` excludes the other writers, and
        // concurrent readers are other processes.
        if let Some(row) = unsafe { self.row_ptr::<R>(id).as_mut() } {
            change(row);
        }
    }

    /// Stores text; empty text if it does not fit.
    pub fn text(&mut self, bytes: &[u8]) -> Text {
        let n = bytes.len().min(MAX_TEXT as usize);
        if n == 0 {
            return Text::default();
        }
        let Some(first) = self.reserve_raw(TableId::Bytes, 1, BASE_BYTES, n as u64) else {
            return Text::default();
        };
        self.write_text(first, &bytes[..n]);
        Text { offset: first as u32, len: n as u32 }
    }

    /// Writes bytes that have been reserved, from index `first` on.
    fn write_text(&mut self, first: u64, mut bytes: &[u8]) {
        for (at, len) in self.pieces(first, bytes.len()) {
            let piece;
            (piece, bytes) = bytes.split_at(len);
            // SAFETY: reserved, and nobody has them yet.
            unsafe { ptr::copy_nonoverlapping(piece.as_ptr(), at, len) };
        }
    }

    /// Address and length of the pieces in which `len` bytes of text lie from index `first` on,
    /// which have been reserved.
    fn pieces(&self, first: u64, len: usize) -> impl Iterator<Item = (*mut u8, usize)> {
        let (mut at, end) = (first, first + len as u64);
        core::iter::from_fn(move || {
            let (extent, row) = locate(at, BASE_BYTES.into());
            let n = (extent_rows(extent, BASE_BYTES.into()) - row).min(end - at);
            let piece = (n != 0).then(|| (self.raw_ptr(TableId::Bytes, at), n as usize));
            at += n;
            piece
        })
    }

    /// As [`Writer::pieces`], to read; none if they are not all there.
    fn read_pieces(&self, text: Text) -> impl Iterator<Item = &[u8]> {
        let end = u64::from(text.offset) + u64::from(text.len);
        let is_there = end <= self.table(TableId::Bytes).len.load(Relaxed);
        let len = if is_there { text.len as usize } else { 0 };
        let pieces = self.pieces(text.offset.into(), len);
        // SAFETY: below the table's length, so its extent exists; text is written once.
        pieces.map(|(at, len)| unsafe { core::slice::from_raw_parts(at, len) })
    }

    /// The stored text is exactly `bytes`.
    pub fn text_is(&self, text: Text, bytes: &[u8]) -> bool {
        let mut rest = Some(bytes);
        for piece in self.read_pieces(text) {
            rest = rest.and_then(|rest| rest.strip_prefix(piece));
        }
        text.len as usize == bytes.len() && rest.is_some_and(<[u8]>::is_empty)
    }

    /// Stores a text of another ledger.
    pub fn copy_text(&mut self, other: &Self, text: Text) -> Text {
        if other.read_pieces(text).next().is_none() {
            return Text::default();
        }
        let Some(first) = self.reserve_raw(TableId::Bytes, 1, BASE_BYTES, text.len.into()) else {
            return Text::default();
        };
        let mut at = first;
        for piece in other.read_pieces(text) {
            self.write_text(at, piece);
            at += piece.len() as u64;
        }
        Text { offset: first as u32, len: text.len }
    }

    /// Reads stored text, as much of it as `buffer` holds.
    pub fn read_text<'b>(&self, text: Text, buffer: &'b mut [u8]) -> &'b [u8] {
        let mut n = 0;
        for piece in self.read_pieces(text) {
            let len = piece.len().min(buffer.len() - n);
            buffer[n..n + len].copy_from_slice(&piece[..len]);
            n += len;
        }
        &buffer[..n]
    }

    /// Stores return addresses and gives the index of the first.
    pub fn frames(&mut self, frames: &[u64]) -> Option<u32> {
        let first = self.reserve_raw(TableId::Frames, 8, BASE_FRAMES, frames.len() as u64)?;
        for (i, &pc) in frames.iter().enumerate() {
            // SAFETY: reserved just now; frame rows are 8 bytes and aligned.
            unsafe { self.raw_ptr(TableId::Frames, first + i as u64).cast::<u64>().write(pc) };
        }
        Some(first as u32)
    }

    /// Return address `index` of the frame table.
    pub fn frame(&self, index: u32) -> u64 {
        if u64::from(index) >= self.table(TableId::Frames).len.load(Relaxed) {
            return 0;
        }
        // SAFETY: below `len`, so its extent exists.
        unsafe { self.raw_ptr(TableId::Frames, u64::from(index)).cast::<u64>().read() }
    }
}

/// Writes a row whose place another thread may still look at, since it had the address of the row that
/// was there before.
///
/// # Safety
/// `at` is a mapped row that is not published.
unsafe fn write_words<R: Row>(at: *mut R, row: &R) {
    for i in 0..size_of::<R>() / size_of::<u32>() {
        // SAFETY: within both rows, which are integers and aligned. Relaxed: the state of the row, stored
        // later, publishes the others.
        unsafe {
            let word = ptr::from_ref(row).cast::<u32>().add(i).read();
            AtomicU32::from_ptr(at.cast::<u32>().add(i)).store(word, Relaxed);
        }
    }
}

/// Which of the numbered tables the row is of.
const fn numbered_table<R: Row>() -> usize {
    let mut i = 0;
    while i < numbered::TABLES.len() {
        if numbered::TABLES[i] as usize == R::TABLE as usize {
            return i;
        }
        i += 1;
    }
    panic!("a numbered row of a table that is not among `numbered::TABLES`")
}

#[cfg(all(test, feature = "reader"))]
mod tests {
    use core::sync::atomic::AtomicUsize;

    use super::*;
    use crate::reader::Ledger;
    use crate::rows::{Evidence, Lock};

    /// A zeroed, page-aligned buffer that outlives the writer.
    fn memory(pages: usize) -> (&'static mut [u64], *mut u8) {
        let words = std::vec![0u64; (pages + 1) * PAGE / 8].leak();
        let at = (words.as_mut_ptr() as usize).next_multiple_of(PAGE) as *mut u8;
        (words, at)
    }

    fn writer(pages: usize) -> (Writer, usize) {
        let (_, at) = memory(pages);
        // SAFETY: `memory` returns leaked, zeroed, page-aligned pages that nobody else uses.
        (unsafe { Writer::create(at, pages * PAGE, |_, _| Ok(()), |_| {}) }.unwrap(), pages * PAGE)
    }

    fn bytes(writer: &Writer, len: usize) -> std::vec::Vec<u8> {
        // SAFETY: the writer's ledger begins at offset 0 of the test's leaked buffer, which has
        // `len` bytes.
        unsafe { std::slice::from_raw_parts(writer.at(0), len) }.to_vec()
    }

    #[test]
    fn rows_come_back() {
        let (mut w, len) = writer(400);
        for i in 1..5000 {
            assert_eq!(w.push(Evidence { node: i, segment: i * 2, ..Default::default() }), Some(i));
        }
        let text = w.text(b"hello");
        let frames = w.frames(&[1, 2, 3]).unwrap();
        let ledger = Ledger::from_bytes(bytes(&w, len)).unwrap();
        let rows: std::vec::Vec<_> = ledger.rows::<Evidence>().collect();
        assert_eq!(rows.len(), 4999);
        assert!(rows.iter().all(|(id, row)| row.node == *id && row.segment == id * 2));
        assert_eq!(ledger.text(text), "hello");
        assert_eq!(ledger.frame(frames + 2), Some(3));
    }

    #[test]
    fn text_may_lie_in_several_pieces() {
        let (mut from, len) = writer(400);
        let (mut to, _) = writer(400);
        let long: std::vec::Vec<u8> = (0..MAX_TEXT).map(|i| i as u8).collect();
        from.text(b"an odd number of bytes before");
        let text = from.text(&long);
        assert!(from.pieces(text.offset.into(), long.len()).count() > 2);
        assert!(from.text_is(text, &long) && !from.text_is(text, &long[1..]));
        assert!(!from.text_is(text, &std::vec![7; long.len()]));
        let copy = to.copy_text(&from, text);
        assert_eq!(to.read_text(copy, &mut [0; MAX_TEXT as usize]), long);
        assert_eq!(to.read_text(copy, &mut [0; 1000]), &long[..1000]);
        assert_eq!(Ledger::from_bytes(bytes(&from, len)).unwrap().raw_text(text), long);
        let beyond = Text { len: text.len + 1, ..text };
        assert!(!from.text_is(beyond, &long));
        assert_eq!(to.copy_text(&from, beyond), Text::default());
        assert_eq!(to.read_text(beyond, &mut [0; 9]), b"");
    }

    #[test]
    fn no_room_is_counted_not_fatal() {
        let (mut w, len) = writer(40);
        let mut written = 0;
        while w.push(Lock { inst: 7, ..Default::default() }).is_some() {
            written += 1;
        }
        assert!(written > 100);
        assert!(w.push(Lock::default()).is_none());
        assert!(w.header().lost.load(Relaxed) >= 2);
        assert_eq!(w.header().stopped.load(Relaxed), stopped::LEDGER_FULL);
        let ledger = Ledger::from_bytes(bytes(&w, len)).unwrap();
        assert_eq!(ledger.rows::<Lock>().count(), written);
    }

    #[test]
    fn a_ledger_that_a_limit_keeps_short_names_the_limit() {
        let (mut w, _) = writer(40);
        w.header().limited_by.store(stopped::FILE_SIZE, Relaxed);
        while w.push(Lock::default()).is_some() {}
        assert_eq!(w.header().stopped.load(Relaxed), stopped::FILE_SIZE);
        w.header().stop(stopped::HOLDER_GONE);
        assert_eq!(w.header().stopped.load(Relaxed), stopped::FILE_SIZE, "the first reason stays");
    }

    #[test]
    fn storage_is_for_the_rows_that_there_are() {
        static STORED: AtomicUsize = AtomicUsize::new(0);
        fn commit(_: *mut u8, len: usize) -> Result<(), u32> {
            STORED.fetch_add(len, Relaxed);
            Ok(())
        }
        let (_, at) = memory(4000);
        // SAFETY: `memory` returns leaked, zeroed, page-aligned pages that nobody else uses.
        let mut w = unsafe { Writer::create(at, 4000 * PAGE, commit, |_| {}) }.unwrap();
        // There is room yet where the first small things are.
        let before = STORED.load(Relaxed) - FIRST_SMALL;
        for rows in 1..100_000 {
            w.push(Evidence::default()).unwrap();
            let stored = STORED.load(Relaxed) - before;
            let needed = (rows + 1) * size_of::<Evidence>();
            assert!(stored >= needed, "{stored} bytes for {rows} rows");
            assert!(stored <= needed + PIECE as usize + 8 * PAGE, "{stored} bytes for {rows} rows");
        }
    }

    #[test]
    fn no_row_is_handed_out_without_storage() {
        static LEFT: AtomicUsize = AtomicUsize::new(40 * PAGE);
        fn commit(_: *mut u8, len: usize) -> Result<(), u32> {
            let less = |left: usize| left.checked_sub(len);
            LEFT.fetch_update(Relaxed, Relaxed, less).map(drop).map_err(|_| stopped::NO_SPACE)
        }
        let (_, at) = memory(4000);
        // SAFETY: `memory` returns leaked, zeroed, page-aligned pages that nobody else uses.
        let mut w = unsafe { Writer::create(at, 4000 * PAGE, commit, |_| {}) }.unwrap();
        let fill = |w: &mut Writer| std::iter::from_fn(|| w.push(Lock::default())).count();
        assert!((100..40 * PAGE / size_of::<Lock>()).contains(&fill(&mut w)));
        assert_eq!(w.header().stopped.load(Relaxed), stopped::NO_SPACE);
        // Somebody has made room.
        LEFT.store(40 * PAGE, Relaxed);
        assert!((100..=40 * PAGE / size_of::<Lock>()).contains(&fill(&mut w)));
        let ledger = Ledger::from_bytes(bytes(&w, 4000 * PAGE)).unwrap();
        assert_eq!(ledger.rows::<Lock>().count() as u32, w.len_of::<Lock>() - 1);
    }

    #[test]
    fn what_is_small_shares_pages() {
        let (mut w, len) = writer(400);
        let sizes = [64, 1, 100, 2048, 2048, 64, 1984, 2000, 64, 4000, 512];
        let mut given: std::vec::Vec<_> =
            sizes.iter().map(|&size| (w.alloc(size).unwrap(), size as u64)).collect();
        for &(offset, size) in &given {
            let at = w.at(offset);
            // SAFETY: `alloc` just returned this extent of `size` bytes, and nobody else uses it.
            assert!((0..size as usize).all(|i| unsafe { at.add(i).read() } == 0));
            // SAFETY: `alloc` just returned this extent of `size` bytes, and nobody else uses it.
            unsafe { ptr::write_bytes(at, 1, size as usize) };
            assert!(offset.is_multiple_of(SMALL_ALIGN as u64));
        }
        given.sort_unstable();
        assert!(given.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{given:?}");
        // A ledger with a row in each of a few tables.
        let before = w.header().used.load(Relaxed);
        w.push(Evidence::default()).unwrap();
        w.push(Lock::default()).unwrap();
        assert!(w.header().used.load(Relaxed) - before <= PAGE as u64);
        assert!(Ledger::from_bytes(bytes(&w, len)).is_ok());
    }

    #[test]
    fn freed_space_is_used_again() {
        let (mut w, _) = writer(64);
        let a = w.alloc(3 * PAGE).unwrap();
        w.free(a, 3 * PAGE);
        assert_eq!(w.alloc(4 * PAGE), Some(a));
    }
}
