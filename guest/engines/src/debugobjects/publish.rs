//! The ledger's row of statistics, kept up to date while the program runs.

use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

use lockwright_ledger::rows::object::ObjectPools;

use super::stats::Stats;

/// The row is brought up to date at most once in so many nanoseconds: a hundred times a second.
const EVERY: u64 = 10_000_000;

/// Where statistics go.
pub(super) struct Publisher {
    row: AtomicPtr<ObjectPools>,
    /// When they go there next; `MAX`: never.
    next_ns: AtomicU64,
}

impl Publisher {
    pub const fn new() -> Self {
        Self { row: AtomicPtr::new(null_mut()), next_ns: AtomicU64::new(u64::MAX) }
    }

    /// From now on statistics go to that row, some 10 ms late as long as there are operations;
    /// null: nowhere.
    ///
    /// # Safety
    /// The row stays mapped until there is another.
    pub unsafe fn publish_to(&self, row: *mut ObjectPools) {
        // Release pairs with the Acquire in `publish`, which so finds the row when it is due.
        self.row.store(row, Relaxed);
        let next = if row.is_null() { u64::MAX } else { 0 };
        self.next_ns.store(next, Release);
    }

    /// Brings the row up to date now, with the statistics and the reason why the engine is off.
    pub fn publish(&self, stats: impl FnOnce() -> Stats, why_off: impl FnOnce() -> u32) {
        let row = self.row.load(Acquire);
        if row.is_null() {
            return;
        }
        // SAFETY: mapped, as `publish_to` was promised; the field is aligned as its type says.
        unsafe {
            stats().put_shared(row);
            AtomicU32::from_ptr(&raw mut (*row).off).store(why_off(), Relaxed);
        }
    }

    /// The row is to be brought up to date, by the caller.
    #[inline]
    pub fn is_due(&self, now: u64) -> bool {
        let due = self.next_ns.load(Acquire);
        now >= due && self.claim(due, now)
    }

    /// As [`Publisher::is_due`], before anybody does it.
    #[inline(always)]
    pub fn may_be_due(&self, now: u64) -> bool {
        // Relaxed: `is_due` decides.
        now >= self.next_ns.load(Relaxed)
    }

    #[cold]
    fn claim(&self, due: u64, now: u64) -> bool {
        // Relaxed: one of those that find it due does it.
        let next = now.saturating_add(EVERY).min(u64::MAX - 1);
        due != u64::MAX && self.next_ns.compare_exchange(due, next, Relaxed, Relaxed).is_ok()
    }
}
