//! Locks for several processes, each of which has an identity of its own for such a lock: where it lies is the same to all.

use lockwright_engines::lockdep::{Ident, SharedPlace};

use super::{identity, unstamped};
use crate::os::time;
use crate::stack::modules;

/// Where the lock at `address` lies, if processes may share it. What carries a stamp is by its attributes for one process
/// only. The kernel is asked about the others: about each lock once, when it is first nested.
pub fn place_of(address: u64, ident: Ident) -> Option<SharedPlace> {
    if !identity::can_stamp() || unstamped::find(address) != Some(ident) {
        return None;
    }
    let place = modules::shared_place(address)?;
    Some(SharedPlace { place, now_ns: time::now_ns() })
}
