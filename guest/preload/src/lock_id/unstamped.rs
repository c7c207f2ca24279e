//! Locks that carry no stamp, which are known by their address alone.

use core::sync::atomic::{AtomicU64, Ordering::*};

use lockwright_engines::lockdep::{ERAS_APART, Ident};

use super::side_table::SideTable;
use crate::recorder::state;

/// Locks that carry no stamp.
#[unsafe(link_section = "lockwright_forked")]
pub(super) static UNSTAMPED: Unstamped = Unstamped(SideTable::new());

/// Has changed as often as one of them, or a place where such are taken, has ceased to be what it was. What is kept of them is for
/// one era.
#[unsafe(link_section = "lockwright_forked")]
pub static ERA: AtomicU64 = AtomicU64::new(0);

/// The era. To be asked before whatever is to be kept is looked up.
pub fn era() -> u64 {
    // Acquire pairs with the Release in `end_era`: what is gone is not found any more.
    ERA.load(Acquire)
}

/// Something has ceased to be what it was.
pub fn end_era() {
    // Release pairs with the Acquire in `era`. Whoever uses the memory of a lock that is gone has it from the thread that has
    // forgotten the lock, and so sees this.
    ERA.fetch_add(ERAS_APART, Release);
}

/// [`SideTable`], with an era that ends with each change of what is there.
pub(super) struct Unstamped(SideTable);

impl Unstamped {
    /// As [`SideTable::get`].
    pub fn get(&self, address: u64) -> Option<Ident> {
        self.0.get(address)
    }

    /// As [`SideTable::insert`].
    pub fn insert(&self, address: u64, ident: Ident) {
        let was_there = self.0.get(address).is_some();
        self.0.insert(address, ident);
        if was_there {
            end_era();
        }
    }

    /// As [`SideTable::remove`].
    pub fn remove(&self, address: u64) {
        if self.0.get(address).is_some() {
            self.0.remove(address);
            end_era();
        }
    }

    /// As [`SideTable::move_to`].
    pub fn move_to(&self, other: &SideTable) {
        self.0.move_to(other);
        end_era();
    }
}

/// The identity of an object that is known by its address alone.
pub fn find(address: u64) -> Option<Ident> {
    UNSTAMPED.get(address)
}

/// Forgets all locks that are known by their address in `[from, to)`. Says whether there were any.
pub fn forget_range(from: u64, to: u64) -> bool {
    UNSTAMPED.0.has_any(from, to) && state::with_core(|_| forget_unloaded(from, to)) == Some(())
}

/// As [`forget_range`], where a module was, whose code other code may replace. The caller has the core's lock.
pub fn forget_unloaded(from: u64, to: u64) {
    UNSTAMPED.0.remove_range(from, to);
    end_era();
}
