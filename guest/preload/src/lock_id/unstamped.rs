//! Locks that carry no stamp, which are known by their address alone.

use lockwright_engines::lockdep::Ident;

use super::side_table::SideTable;
use crate::recorder::state;

/// Locks that carry no stamp.
#[unsafe(link_section = "lockwright_forked")]
pub(super) static UNSTAMPED: SideTable = SideTable::new();

/// The identity of an object that is known by its address alone.
pub fn find(address: u64) -> Option<Ident> {
    UNSTAMPED.get(address)
}

/// Forgets all locks that are known by their address in `[from, to)`. Says whether there were any.
pub fn forget_range(from: u64, to: u64) -> bool {
    UNSTAMPED.has_any(from, to)
        && state::with_core(|_| UNSTAMPED.remove_range(from, to)) == Some(())
}
