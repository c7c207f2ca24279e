//! The ledger's row of statistics, kept up to date while the program runs.

use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

use lockwright_ledger::rows::object::ObjectPools;

use super::objects::Objects;

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
}

impl Objects {
    /// From now on statistics go to that row, some 10 ms late as long as there are operations;
    /// null: nowhere.
    ///
    /// # Safety
    /// The row stays mapped until there is another.
    pub unsafe fn publish_to(&self, row: *mut ObjectPools) {
        // Release pairs with the Acquire in `publish`, which so finds the row when it is due.
        self.publisher.row.store(row, Relaxed);
        let next = if row.is_null() { u64::MAX } else { 0 };
        self.publisher.next_ns.store(next, Release);
    }

    /// Brings the row up to date now.
    pub fn publish(&self) {
        let row = self.publisher.row.load(Acquire);
        if row.is_null() {
            return;
        }
        // SAFETY: mapped, as `publish_to` was promised; the field is aligned as its type says.
        unsafe {
            self.stats().put_shared(row);
            AtomicU32::from_ptr(&raw mut (*row).off).store(self.why_off(), Relaxed);
        }
    }

    /// Brings the row up to date if that is due.
    #[inline]
    pub(super) fn publish_if_due(&self, now: u64) {
        let due = self.publisher.next_ns.load(Acquire);
        if now >= due {
            self.publish_due(due, now);
        }
    }

    #[cold]
    fn publish_due(&self, due: u64, now: u64) {
        // Relaxed: one of those that find it due does it.
        let next = now.saturating_add(EVERY).min(u64::MAX - 1);
        if due != u64::MAX
            && self.publisher.next_ns.compare_exchange(due, next, Relaxed, Relaxed).is_ok()
        {
            self.publish();
        }
    }
}
