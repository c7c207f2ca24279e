//! How the readers of one rwlock overlap: a busy period lasts from the first reader in to the last
//! out.
//!
//! All readers change the row, on whatever processors they are, so the price of it is how often its
//! cache line moves. A reader changes one word when it comes and when it leaves, which has both how
//! many there are and since when ([`readers_word`]). It looks at nothing else in that line, unless
//! it is the first or the last, who find the line at hand. Where the row is it remembers with the
//! lock that it holds, so that it does not look for that in the lock's own memory again.

use core::sync::atomic::Ordering::{AcqRel, Relaxed};
use core::sync::atomic::{AtomicU32, AtomicU64};

use lockwright_ledger::readers_word;
use lockwright_ledger::rows::meter::{Metered, Readers};

/// The row of one rwlock, whose words all its readers change.
#[derive(Clone, Copy, Debug)]
pub struct ReadersRef(*mut Readers);

impl ReadersRef {
    /// The row at `at`, if it is that of lock `inst`.
    ///
    /// # Safety
    /// `at` is null or points to mapped, 8-aligned memory as large as a row, with nothing but rows
    /// of this kind in it if its third word is `inst`.
    pub unsafe fn at(at: *mut Readers, inst: u32) -> Option<Self> {
        // SAFETY: `at` is not null here; by contract it then points to mapped, aligned memory as
        // large as a row.
        (!at.is_null() && unsafe { (*at).inst } == inst).then_some(Self(at))
    }

    /// The row of a held lock, if it has one.
    #[inline(always)]
    pub(super) fn of(held: &Metered) -> Option<Self> {
        let row = held.readers as *mut Readers;
        (!row.is_null()).then_some(Self(row))
    }

    #[inline(always)]
    pub(super) fn address(self) -> u64 {
        self.0 as u64
    }

    fn now_since(&self) -> &AtomicU64 {
        // SAFETY: a mapped row; the word is only accessed atomically.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.0).now_since) }
    }

    fn max(&self) -> &AtomicU32 {
        // SAFETY: `self` is a mapped row, and every thread accesses this word atomically only.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.0).max) }
    }

    /// A reader has come: it holds the lock since `since`, 0 if its hold is not timed; then nor is
    /// a busy period that it begins. Returns how many there are.
    #[inline(always)]
    pub fn comes(&self, since: u64) -> u32 {
        // AcqRel pairs with the one in `goes`: the last period is over.
        let before = self.now_since().fetch_add(1, AcqRel);
        let readers = readers_word::now(before) + 1;
        if readers == 1 {
            let change = readers_word::since(since).wrapping_sub(readers_word::since_in(before));
            // Relaxed: it is counted, so nobody else is the last to leave before it leaves.
            self.now_since().fetch_add(change, Relaxed);
        }
        if self.max().load(Relaxed) < readers {
            self.max().fetch_max(readers, Relaxed);
        }
        readers
    }

    /// A reader is about to leave. The last one counts the busy period that it ends, if that was
    /// timed.
    #[inline(always)]
    pub fn goes(&self, clock: impl FnOnce() -> u64) {
        // AcqRel pairs with the one in `comes`.
        let before = self.now_since().fetch_sub(1, AcqRel);
        match readers_word::now(before) {
            1 if readers_word::is_timed(before) => {
                self.record(readers_word::ticks(before, clock()));
            }
            // It has left already: its unlock failed, or a handler left that by a long jump. A reader that
            // comes before this is taken back is taken for the first.
            0 => {
                self.now_since().fetch_add(1, Relaxed);
            }
            _ => {}
        }
    }

    /// Counts a busy period of `ticks`.
    #[inline(always)]
    fn record(&self, ticks: u64) {
        let row = self.0;
        // SAFETY: a mapped row; its words are only accessed atomically. Relaxed: sums alone.
        unsafe {
            AtomicU64::from_ptr(&raw mut (*row).periods).fetch_add(1, Relaxed);
            AtomicU64::from_ptr(&raw mut (*row).ticks).fetch_add(ticks, Relaxed);
            let max = AtomicU64::from_ptr(&raw mut (*row).max_ticks);
            if max.load(Relaxed) < ticks {
                max.fetch_max(ticks, Relaxed);
            }
        }
    }
}
