//! How the readers of one rwlock overlap: a busy period lasts from the first reader in to the last
//! out.

use core::sync::atomic::Ordering::{AcqRel, Relaxed};
use core::sync::atomic::{AtomicU32, AtomicU64};

use lockwright_ledger::rows::meter::Readers;

/// The row of one rwlock, whose words all its readers change.
#[derive(Clone, Copy, Debug)]
pub struct ReadersRef(*mut Readers);

/// A busy period that is over.
#[derive(Clone, Copy, Debug)]
pub struct Overlap {
    readers: ReadersRef,
    ticks: u64,
}

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

    fn now(&self) -> &AtomicU32 {
        // SAFETY: a mapped row; the word is only accessed atomically.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.0).now) }
    }

    fn max(&self) -> &AtomicU32 {
        // SAFETY: `self` is a mapped row, and every thread accesses this word atomically only.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.0).max) }
    }

    fn since(&self) -> &AtomicU64 {
        // SAFETY: `self` is a mapped row, and every thread accesses this word atomically only.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.0).since) }
    }

    /// A reader has come: it holds the lock since `since`, 0 if its hold is not timed; then nor is
    /// a busy period that it begins. Returns how many there are.
    #[inline(always)]
    pub fn comes(&self, since: u64) -> u32 {
        // AcqRel pairs with the one in `goes`: the last period's reading of `since` is over.
        let readers = self.now().fetch_add(1, AcqRel) + 1;
        if readers == 1 {
            self.since().store(since, Relaxed);
        }
        if self.max().load(Relaxed) < readers {
            self.max().fetch_max(readers, Relaxed);
        }
        readers
    }

    /// A reader is about to leave. The last one gets the busy period that it ends, if that was
    /// timed.
    #[inline(always)]
    pub fn goes(&self, clock: impl FnOnce() -> u64) -> Option<Overlap> {
        // Read while we are still counted, so that no new period can have begun.
        let since = self.since().load(Relaxed);
        let gone = self.now().fetch_update(AcqRel, Relaxed, |n| n.checked_sub(1));
        (gone == Ok(1) && since != 0)
            .then(|| Overlap { readers: *self, ticks: clock().saturating_sub(since) })
    }
}

impl Overlap {
    /// Counts it.
    pub fn record(&self) {
        let row = self.readers.0;
        // SAFETY: a mapped row; its words are only accessed atomically.
        unsafe {
            AtomicU64::from_ptr(&raw mut (*row).periods).fetch_add(1, Relaxed);
            AtomicU64::from_ptr(&raw mut (*row).ticks).fetch_add(self.ticks, Relaxed);
            AtomicU64::from_ptr(&raw mut (*row).max_ticks).fetch_max(self.ticks, Relaxed);
        }
    }
}
