//! A lock's life begins and ends: nobody may hold it then.

use crate::lockdep::acquire::Watched;
use crate::lockdep::{misuse, watch};

/// Records what happens to a held lock. Returns whether a thread holds it. `kind` is one of
/// [`finding_kind`](lockwright_ledger::rows::finding_kind).
///
/// # Safety
/// `lock` points to memory that is large enough for such a lock.
pub unsafe fn tell_if_held<L: Watched>(lock: *mut L, kind: u8) -> bool {
    let addr = lock as u64;
    // SAFETY: the caller promises memory that is large enough for such a lock.
    let is_asked = unsafe { L::may_be_held(lock) };
    is_asked
        && watch::thread()
            .is_some_and(|thread| misuse::if_held(thread, kind, addr, addr + 1).is_some())
}
