//! Locks for several processes, each of which has an identity of its own for such a lock: where it lies is the same to all.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lockwright_engines::lockdep::{Ident, SharedPlace};

use super::{identity, unstamped};
use crate::os::time;
use crate::stack::modules;

/// Memory of this process alone that a lock was last found in: a program may have many spinlocks, which do not tell whether
/// they are for several processes. Written under the core's lock.
static OWN: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Where the lock at `address` lies, if processes may share it. What carries a stamp is by its attributes for one process
/// only. The kernel is asked about the others: about each lock once, when it is first nested.
pub fn place_of(address: u64, ident: Ident) -> Option<SharedPlace> {
    if !identity::can_stamp() || unstamped::find(address) != Some(ident) {
        return None;
    }
    // Relaxed: only this function uses them, one call at a time.
    let [from, to] = [0, 1].map(|i| OWN[i].load(Relaxed));
    if (from..to).contains(&address) {
        return None;
    }
    let mapping = modules::mapping_of(address)?;
    if !mapping.is_shared {
        OWN[0].store(mapping.start, Relaxed);
        OWN[1].store(mapping.end, Relaxed);
        return None;
    }
    Some(SharedPlace { place: mapping.place(address)?, now_ns: time::now_ns() })
}
