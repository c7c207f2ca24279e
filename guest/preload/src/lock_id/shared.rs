//! Locks for several processes, each of which has an identity of its own for such a lock: where it lies is the same to all.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use lockwright_engines::lockdep::{Ident, SharedPlace};

use super::{identity, unstamped};
use crate::os::time;
use crate::stack::modules;

/// Memory of this process alone that locks were last found in: a program may have many spinlocks, which do not say whether
/// they are for several processes, or Python's locks, which lie in a few mappings. Written under the core's lock.
static OWN: [[AtomicU64; 2]; MAPPINGS] = [const { [const { AtomicU64::new(0) }; 2] }; MAPPINGS];
const MAPPINGS: usize = 8;

/// The next of them to be written.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Where the lock at `address` lies, if processes may share it. What carries a stamp is by its attributes for one process
/// only. The kernel is asked about the others: about each lock once, when it is first nested.
pub fn place_of(address: u64, ident: Ident) -> Option<SharedPlace> {
    if !identity::can_stamp() || unstamped::find(address) != Some(ident) {
        return None;
    }
    // Relaxed: only this function uses them, one call at a time.
    let is_in =
        |[from, to]: &[AtomicU64; 2]| (from.load(Relaxed)..to.load(Relaxed)).contains(&address);
    if OWN.iter().any(is_in) {
        return None;
    }
    let mapping = modules::mapping_of(address)?;
    if !mapping.is_shared {
        let [from, to] = &OWN[NEXT.fetch_add(1, Relaxed) % MAPPINGS];
        from.store(mapping.start, Relaxed);
        to.store(mapping.end, Relaxed);
        return None;
    }
    Some(SharedPlace { place: mapping.place(address)?, now_ns: time::now_ns() })
}
