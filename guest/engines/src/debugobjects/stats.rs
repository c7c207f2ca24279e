//! Statistics, under the kernel's names (/sys/kernel/debug/debug_objects/stats).

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::rows::object::ObjectPools;

/// Statistics at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Longest chain of a hash bucket.
    pub max_chain: u64,
    /// Most trackers looked at for memory that went.
    pub max_checked: u64,
    /// Faults.
    pub warnings: u64,
    /// Fixups that repaired a state.
    pub fixups: u64,
    /// Records free in the global pool.
    pub pool_free: u64,
    /// Records free in the threads' pools.
    pub pool_pcp_free: u64,
    /// Fewest that were ever free in the global pool, once it had been filled.
    pub pool_min_free: u64,
    /// Records in use.
    pub pool_used: u64,
    /// Most that ever were; as in the kernel, what threads' pools have counts, too.
    pub pool_max_used: u64,
    /// Records that wait to be given back to the slab.
    pub on_free_list: u64,
    /// Records ever had from the slab.
    pub objs_allocated: u64,
    /// Records ever given back to it.
    pub objs_freed: u64,
    /// Times the global pool's lock was taken.
    pub pool_lock_acquired: u64,
    /// How often it was found taken.
    pub pool_lock_contended: u64,
    /// Operations that were not tracked.
    pub lost: u64,
}

impl Stats {
    /// Fills the ledger's row in.
    pub fn put(&self, row: &mut ObjectPools) {
        // SAFETY: `row` is a reference, so it points to a valid row for the whole call.
        unsafe { self.put_shared(row) };
    }

    /// Fills the ledger's row in, which others may be reading and filling in.
    ///
    /// # Safety
    /// `row` is a mapped row.
    pub(super) unsafe fn put_shared(&self, row: *mut ObjectPools) {
        // Relaxed: each field stands for itself.
        let set = |field: *mut u64, value| {
            // SAFETY: a field of the row, aligned as its type says.
            unsafe { AtomicU64::from_ptr(field) }.store(value, Relaxed);
        };
        // SAFETY: places within the row, the caller's promise.
        unsafe {
            set(&raw mut (*row).max_chain, self.max_chain);
            set(&raw mut (*row).max_checked, self.max_checked);
            set(&raw mut (*row).warnings, self.warnings);
            set(&raw mut (*row).fixups, self.fixups);
            set(&raw mut (*row).pool_free, self.pool_free);
            set(&raw mut (*row).pool_pcp_free, self.pool_pcp_free);
            set(&raw mut (*row).pool_min_free, self.pool_min_free);
            set(&raw mut (*row).pool_used, self.pool_used);
            set(&raw mut (*row).pool_max_used, self.pool_max_used);
            set(&raw mut (*row).on_free_list, self.on_free_list);
            set(&raw mut (*row).objs_allocated, self.objs_allocated);
            set(&raw mut (*row).objs_freed, self.objs_freed);
            set(&raw mut (*row).pool_lock_acquired, self.pool_lock_acquired);
            set(&raw mut (*row).pool_lock_contended, self.pool_lock_contended);
            set(&raw mut (*row).lost, self.lost);
        }
    }
}

/// Counters that are no pool's.
pub(super) struct Counters {
    pub max_chain: AtomicU64,
    pub max_checked: AtomicU64,
    pub warnings: AtomicU64,
    pub fixups: AtomicU64,
    pub lost: AtomicU64,
}

impl Counters {
    pub const fn new() -> Self {
        Self {
            max_chain: AtomicU64::new(0),
            max_checked: AtomicU64::new(0),
            warnings: AtomicU64::new(0),
            fixups: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        }
    }
}

/// Raises a maximum. Relaxed: it orders nothing. It is mostly only read, so its line stays shared.
#[inline]
pub(super) fn raise(max: &AtomicU64, seen: u64) {
    if seen > max.load(Relaxed) {
        max.fetch_max(seen, Relaxed);
    }
}
