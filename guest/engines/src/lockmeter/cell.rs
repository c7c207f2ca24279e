//! The counters of one thread at one call site.

use core::ptr::NonNull;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::histogram::{self, RUN};
use lockwright_ledger::rows::meter::{Blame, Bucket, Cell, Site, histogram_kind};

use super::off_cpu::LONG;
use super::runs::{self, Missing};
use crate::arch;

/// The run of buckets from which on holds are long.
const LONG_RUN: u16 = (histogram::bucket(LONG) / RUN) as u16;

/// Adds to a number that only this thread and its signal handlers change, `OFFSET` bytes into a row.
#[inline(always)]
pub(super) fn add<const OFFSET: usize, T>(row: *mut T, by: u64) {
    const { assert!(OFFSET.is_multiple_of(8) && OFFSET < size_of::<T>()) };
    // SAFETY: callers pass a mapped row of their own, and `OFFSET` is aligned and lies within it.
    unsafe { arch::add::<OFFSET>(row, by) };
}

/// [`add`] of 1, which needs no register.
#[inline(always)]
pub(super) fn increment<const OFFSET: usize, T>(row: *mut T) {
    const { assert!(OFFSET.is_multiple_of(8) && OFFSET < size_of::<T>()) };
    // SAFETY: callers pass a mapped row of their own, and `OFFSET` is aligned and lies within it.
    unsafe { arch::increment::<OFFSET>(row) };
}

/// [`add`] to a named field.
macro_rules! add {
    ($row:expr, $Row:ident.$field:ident, 1) => {
        increment::<{ core::mem::offset_of!($Row, $field) }, $Row>($row)
    };
    ($row:expr, $Row:ident.$field:ident, $by:expr) => {
        add::<{ core::mem::offset_of!($Row, $field) }, $Row>($row, $by)
    };
}

/// Raises a maximum. A handler that comes between may have its own lost; it took a shorter time.
#[inline(always)]
fn raise(word: *mut u64, value: u64) {
    // SAFETY: callers pass an aligned word of a mapped row of their own.
    let word = unsafe { AtomicU64::from_ptr(word) };
    if word.load(Relaxed) < value {
        word.store(value, Relaxed);
    }
}

/// Lowers a minimum that all threads share, which is kept as its complement. As the kernel's, it is
/// that of what took any time.
fn lower(word: *mut u64, value: u64) {
    // SAFETY: callers pass a word of a mapped row, which is only accessed atomically.
    let word = unsafe { AtomicU64::from_ptr(word) };
    // Relaxed, both: a number. Few are new minima, and only those write.
    if value != 0 && word.load(Relaxed) < !value {
        word.fetch_max(!value, Relaxed);
    }
}

/// Adds 1 to a number that all threads share.
fn count_shared(word: *mut u64) {
    // SAFETY: callers pass a word of a mapped row, which is only accessed atomically. Relaxed: a
    // count.
    unsafe { AtomicU64::from_ptr(word) }.fetch_add(1, Relaxed);
}

/// What the counting of a hold left to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Its bucket is not one of those used last.
    Bucket,
    /// Its bucket's count has wrapped.
    Carry,
}

/// A cell of the thread that has it: the address of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct CellRef(NonNull<Cell>);

impl CellRef {
    /// The cell at a row's address.
    ///
    /// # Safety
    /// `address` is one that [`CellRef::address`] gave.
    #[inline(always)]
    pub(super) unsafe fn at_unchecked(address: u64) -> Self {
        // SAFETY: by contract `CellRef::address` gave this address: it was never 0.
        Self(unsafe { NonNull::new_unchecked(address as *mut Cell) })
    }

    /// The cell at a row's address, which an index or an entry of this engine has; `None` for 0.
    #[inline(always)]
    pub(super) fn at(address: u64) -> Option<Self> {
        NonNull::new(address as *mut Cell).map(Self)
    }

    #[inline(always)]
    pub(super) fn address(self) -> u64 {
        self.0.as_ptr() as u64
    }

    #[inline(always)]
    pub(super) fn row(self) -> *mut Cell {
        self.0.as_ptr()
    }

    /// The cell's site.
    pub fn site(self) -> u32 {
        // SAFETY: a mapped row; the field does not change.
        unsafe { (*self.row()).site }
    }

    /// Counts an acquisition that begins, before it is tried.
    #[inline(always)]
    pub fn begin(self) {
        add!(self.row(), Cell.acquisitions, 1);
    }

    /// The acquisition that began is none after all.
    #[inline(always)]
    pub fn take_back(self) {
        add!(self.row(), Cell.acquisitions, u64::MAX);
    }

    /// The acquisition that began ran out of time.
    pub fn time_out(self) {
        self.take_back();
        add!(self.row(), Cell.timeouts, 1);
    }

    /// The trylock that began found the lock held.
    #[inline(always)]
    pub fn reject(self) {
        self.take_back();
        add!(self.row(), Cell.rejects, 1);
    }

    /// The wait at a futex that began was refused: the word had changed.
    pub fn refuse(self) {
        self.take_back();
        add!(self.row(), Cell.rejects, 1);
    }

    /// The wait at a futex that is over ran out of time.
    pub fn ran_out(self) {
        add!(self.row(), Cell.timeouts, 1);
    }

    /// A signal ended the wait at a futex that is over.
    pub fn interrupted(self) {
        add!(self.row(), Cell.holds, 1);
    }

    /// There were `readers` at once.
    #[inline(always)]
    pub fn saw_readers(self, readers: u32) {
        // SAFETY: the cell is a mapped row of this thread, so only it and its signal handlers write
        // here.
        unsafe {
            if (*self.row()).readers_max < readers {
                (*self.row()).readers_max = readers;
            }
        }
    }

    /// Counts a hold of `ticks`: its sums, and in its bucket if that is at hand. `Err` says what is
    /// left for [`CellRef::make_up`].
    #[inline(always)]
    pub fn count_hold(self, ticks: u64) -> Result<(), Rest> {
        let cell = self.row();
        // SAFETY: the cell is a mapped row of this thread; what `near` has is 0 or the address of a
        // row of this cell.
        unsafe {
            add!(cell, Cell.holds, 1);
            add!(cell, Cell.hold_ticks, ticks);
            raise(&raw mut (*cell).hold_max, ticks);
            let index = histogram::bucket(ticks);
            let run = index / RUN;
            let bucket = (*cell).near[run % 8] as *mut Bucket;
            if bucket.is_null() || (*bucket).run as usize != run {
                return Err(Rest::Bucket);
            }
            count(bucket, index % RUN).map_or(Ok(()), |_| Err(Rest::Carry))
        }
    }

    /// The row of the site, which all cells there share.
    fn site_row(self) -> *mut Site {
        // SAFETY: the cell is a mapped row of this thread, so only it and its signal handlers write
        // it.
        unsafe { (*self.row()).site_at as *mut Site }
    }

    /// How many holds have been counted, and their sum: for [`CellRef::shortest_hold`].
    pub fn holds(self) -> (u64, u64) {
        // SAFETY: the cell is a mapped row of this thread, so only it and its signal handlers write
        // it.
        unsafe { ((*self.row()).holds, (*self.row()).hold_ticks) }
    }

    /// A hold has been counted since [`CellRef::holds`] gave `before`: checks whether it is the
    /// shortest. If a handler's hold came with it, that is not known for either.
    pub fn shortest_hold(self, before: (u64, u64)) {
        let (holds, ticks) = self.holds();
        if holds == before.0 + 1 {
            // SAFETY: `site_row` returns the address of a mapped site row, and rows stay mapped.
            lower(unsafe { &raw mut (*self.site_row()).hold_least }, ticks.wrapping_sub(before.1));
        }
    }

    /// The acquisition was on another CPU than the lock's last one.
    pub fn bounce(self) {
        // SAFETY: `site_row` returns the address of a mapped site row, and rows stay mapped.
        count_shared(unsafe { &raw mut (*self.site_row()).bounces });
    }

    /// A wait begins on another CPU than that of the lock's last acquisition.
    pub fn contended_bounce(self) {
        // SAFETY: `site_row` returns the address of a mapped site row, and rows stay mapped.
        count_shared(unsafe { &raw mut (*self.site_row()).contended_bounces });
    }

    /// Does what [`CellRef::count_hold`] left. `Some` says what is still missing.
    #[cold]
    #[inline(never)]
    pub fn make_up(self, ticks: u64, rest: Rest) -> Option<Missing> {
        let index = histogram::bucket(ticks);
        let run = index / RUN;
        match rest {
            Rest::Bucket => self.count_far(run as u16, histogram_kind::HOLD, index % RUN),
            Rest::Carry => {
                // SAFETY: the cell is a mapped row of this thread; the bucket that was counted in
                // is near.
                let bucket = unsafe { &*((*self.row()).near[run % 8] as *const Bucket) };
                Some(Missing::Carry(bucket.id, (index % RUN) as u32))
            }
        }
    }

    /// Counts a wait that came to its end after `ticks`, of which `spun` were spent spinning.
    /// `Some` as for holds.
    pub fn record_wait(self, ticks: u64, spun: u64) -> Option<Missing> {
        let cell = self.row();
        // SAFETY: the cell is a mapped row of this thread, so only it and its signal handlers write
        // here.
        unsafe {
            add!(cell, Cell.contended, 1);
            add!(cell, Cell.wait_ticks, ticks);
            add!(cell, Cell.spin_ticks, spun);
            raise(&raw mut (*cell).wait_max, ticks);
            lower(&raw mut (*self.site_row()).wait_least, ticks);
        }
        let index = histogram::bucket(ticks);
        self.count_far((index / RUN) as u16, histogram_kind::WAIT, index % RUN)
    }

    /// Counts in a bucket that the cell has not used last.
    #[cold]
    pub(super) fn count_far(self, run: u16, kind: u16, index: usize) -> Option<Missing> {
        let cell = self.row();
        // SAFETY: the cell is a mapped row of this thread; addresses in the list are those of
        // mapped rows.
        unsafe {
            let own = runs::find((*cell).first_bucket, run, kind);
            if own.is_null() {
                return self.count_shared(run, kind, index);
            }
            // Long holds are looked at one by one: each is to come here.
            if kind == histogram_kind::HOLD && run < LONG_RUN {
                (*cell).near[run as usize % 8] = own as u64;
            }
            count(own, index)
        }
    }

    /// Counts in a bucket of the site's, as long as the cell has patience.
    fn count_shared(self, run: u16, kind: u16, index: usize) -> Option<Missing> {
        let cell = self.row();
        // SAFETY: the cell is a mapped row of this thread; the site's row is mapped as well.
        unsafe {
            let shared =
                runs::find(runs::first_shared((*cell).site_at as *mut Site, run), run, kind);
            if shared.is_null() || (*cell).patience == 0 {
                return Some(Missing::Run);
            }
            (*cell).patience -= 1;
            runs::count_shared(shared, index)
        }
    }

    /// Adds to what the cell knows of `other`, as one of
    /// [`lockwright_ledger::rows::meter::blame_kind`]. False: it has no row for it yet.
    #[must_use]
    pub fn blame(self, kind: u32, other: u32, ticks: u64) -> bool {
        // SAFETY: the cell is this thread's own; addresses in its list are those of mapped rows.
        unsafe {
            let mut at = (*self.row()).first_blame as *mut Blame;
            while !at.is_null() {
                if (*at).other == other && (*at).kind == kind {
                    add!(at, Blame.count, 1);
                    add!(at, Blame.ticks, ticks);
                    return true;
                }
                at = (*at).next_at as *mut Blame;
            }
        }
        false
    }
}

/// # Safety
/// `bucket` is a row of the calling thread, `index` below [`RUN`].
#[inline(always)]
unsafe fn count(bucket: *mut Bucket, index: usize) -> Option<Missing> {
    // SAFETY: by contract `bucket` is this thread's row, and `index` lies within its counts.
    unsafe {
        let count = (&raw mut (*bucket).counts).cast::<u16>().add(index);
        let new = (*count).wrapping_add(1);
        *count = new;
        if new == 0 { Some(Missing::Carry((*bucket).id, index as u32)) } else { None }
    }
}
