//! The fast paths of an acquisition and a release: the parts that mutexes, rwlocks and spinlocks
//! share. A thread that is not watched has the detached state, which fails every test here.

use core::ffi::c_int;

use lockwright_engines::lockdep::{Chain, Ident, ThreadState};

use crate::os::tls;

/// The calling thread, and the chain that it makes with an acquisition of `ident` in `mode`.
/// `None`: it has no room for another lock, or is not watched.
#[inline(always)]
pub fn chain(ident: Ident, mode: u16) -> Option<(&'static mut ThreadState, Chain)> {
    let state = tls::raw();
    // SAFETY: the thread's own state, or the detached one. All threads read that, and none writes.
    let chain = unsafe { (*state.cast_const()).chain(ident, mode) }?;
    // SAFETY: a chain is proof of room, and the detached state has none. So the state is the
    // thread's own, and a wrapper uses one reference to it at a time.
    Some((unsafe { &mut *state }, chain))
}

/// The calling thread, if the lock at `address` is the innermost that it holds.
#[inline(always)]
pub fn holder(address: u64) -> Option<&'static mut ThreadState> {
    let state = tls::raw();
    // SAFETY: the thread's own state, or the detached one. All threads read that, and none writes.
    if !unsafe { (*state.cast_const()).is_innermost(address) } {
        return None;
    }
    // SAFETY: the detached state holds nothing, which is address 0 and no lock's. So the state is
    // the thread's own, and a wrapper uses one reference to it at a time.
    Some(unsafe { &mut *state })
}

/// Unlocks the lock at `address` by `unlock`, if it is the innermost that the calling thread holds,
/// and records that afterwards, outside the critical section. `slow` is the slow path, for a call that
/// failed or an entry that says there is more to do. It gets the result of `unlock`. `None`: another
/// lock is the innermost, or none.
#[inline(always)]
pub fn unlock(
    address: u64,
    unlock: impl FnOnce(&mut ThreadState) -> c_int,
    slow: impl FnOnce(&mut ThreadState, c_int),
) -> Option<c_int> {
    let thread = holder(address)?;
    let result = unlock(thread);
    // The lock may be gone by now: even its address comes from the entry.
    if result != 0 || !thread.release_top() {
        slow(thread, result);
    }
    Some(result)
}
