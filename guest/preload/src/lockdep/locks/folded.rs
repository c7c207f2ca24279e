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

/// A thread that holds more locks takes the slow path, which is shorter than comparing with all of them.
const MOST_COMPARED: u32 = 1024;

/// A thread that holds so many locks may hold this one, too; `is_held` compares it with all. In a program that nests ever
/// more locks, each of them would be compared with all others.
#[inline(always)]
fn may_be_held(depth: u32, is_held: impl FnOnce() -> bool) -> bool {
    depth > MOST_COMPARED || is_held()
}

/// Reserves the entry of a lock that has no context of its own, if the context that stands for it is known to the thread.
///
/// # Safety
/// The call that returns to `lock.site` by way of `back` has not returned.
#[inline(never)]
pub unsafe fn reserve(thread: &mut ThreadState, lock: &Acquire, back: Return) -> bool {
    let &Acquire { addr, ident, mode, site } = lock;
    let Some(folded) = thread.folded(ident, mode) else { return false };
    if RECORDED.may_have(ident.inst()) {
        return false;
    }
    let known = |site| thread.known_folded(&folded, site);
    let found = known(site).map(|probe| (site, probe));
    // SAFETY: the caller promises that the call to which `back` belongs has not returned.
    let found = found.or_else(|| unsafe { callsite::known_past_return(site, back, known) });
    let Some((site, probe)) = found else { return false };
    // Once more of the same lock is no matter of its class.
    if may_be_held(thread.depth(), || thread.find(addr).is_some()) {
        return false;
    }
    if let Some(header) = state::header() {
        // Relaxed: a count. The core counts those that it meets.
        header.pairs_folded.fetch_add(1, Relaxed);
    }
    thread.reserve_folded(folded, ident, mode, site, probe);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_not_compared_with_very_many() {
        for depth in [MOST_COMPARED + 1, 80_000, u32::MAX] {
            assert!(may_be_held(depth, || panic!("compared with {depth} locks")));
        }
        for is_held in [false, true] {
            assert_eq!(may_be_held(MOST_COMPARED, || is_held), is_held);
        }
    }
}
