//! Acquisitions in a pair of classes that has its fill of contexts: one context stands for the rest of the locks, so
//! that a thread knows it for a lock that it meets for the first time. This takes no lock of ours and no system call.
//!
//! Programs that make a lock for each request, future or connection come here with nearly all of them, where the thread
//! holds another lock. In CPython each thread holds one as long as it lives.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_engines::lockdep::{Acquire, RecordedLocks, ThreadState};

use crate::callsite::{self, Return};
use crate::recorder::state;

/// The locks that are recorded by themselves. A forked child keeps its parent's marks: they cost time only.
pub static RECORDED: RecordedLocks = RecordedLocks::new();

/// Reserves the entry of a lock that has no context of its own, if the context that stands for it is known to the thread.
///
/// # Safety
/// The call that returns to `lock.site` by way of `back` has not returned.
#[inline(never)]
pub unsafe fn reserve(thread: &mut ThreadState, lock: &Acquire, back: Return) -> bool {
    let &Acquire { addr, ident, mode, site } = lock;
    let Some(folded) = thread.folded(ident, mode) else { return false };
    // Once more of the same lock is no matter of its class.
    if RECORDED.may_have(ident.inst()) || thread.find(addr).is_some() {
        return false;
    }
    let known = |site| thread.known_folded(&folded, site);
    let found = known(site).map(|probe| (site, probe));
    // SAFETY: the caller promises that the call to which `back` belongs has not returned.
    let found = found.or_else(|| unsafe { callsite::known_past_return(site, back, known) });
    let Some((site, probe)) = found else { return false };
    if let Some(header) = state::header() {
        // Relaxed: a count. The core counts those that it meets.
        header.pairs_folded.fetch_add(1, Relaxed);
    }
    thread.reserve_folded(folded, ident, mode, site, probe);
    true
}
