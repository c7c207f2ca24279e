//! Switches that undo what made lockdep fast, one by one, to measure what each is worth: the
//! patches of "locking/lockdep: Improve lockdep performance" (2018), as far as they mean something
//! here. They are features of this crate, for `cargo xtask bench check` alone; the library that is
//! installed has none.
//!
//! | feature       | off, as it ships                          | on, as before the patch               |
//! |---------------|-------------------------------------------|---------------------------------------|
//! | `unpatched-2` | whether we watch is asked where a thread is attached | at every acquisition       |
//! | `unpatched-3` | the innermost lock is taken off as such   | it is searched for like any other     |
//! | `unpatched-4` | acquisitions are counted per thread       | and in one shared counter per class   |
//! | `unpatched-5` | a release is recorded after the unlock    | before it, in the critical section    |
//!
//! (Patch 1 removed a function that nobody called.) Mutexes, rwlocks and spinlocks know the switches,
//! on the ways that an acquisition and a release of the innermost lock take when all is known.

use core::ffi::c_int;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use lockwright_engines::lockdep::{Ident, ThreadState};

use crate::recorder::state;

const CHECK_EVERY_ACQUIRE: bool = cfg!(feature = "unpatched-2");
const SEARCH_EVERY_RELEASE: bool = cfg!(feature = "unpatched-3");
const COUNT_BY_CLASS: bool = cfg!(feature = "unpatched-4");
const RELEASE_INSIDE: bool = cfg!(feature = "unpatched-5");

/// Releases go the way of [`unlock`].
pub const RELEASE: bool = SEARCH_EVERY_RELEASE || RELEASE_INSIDE;

/// What an acquisition did before patches 2 and 4. False: it is not to be watched.
#[inline(always)]
pub fn acquires(ident: Ident) -> bool {
    static COUNTS: [AtomicU64; 4096] = [const { AtomicU64::new(0) }; 4096];
    if COUNT_BY_CLASS {
        // Relaxed: a count.
        COUNTS[ident.class() as usize % COUNTS.len()].fetch_add(1, Relaxed);
    }
    !CHECK_EVERY_ACQUIRE || state::status() == state::ACTIVE
}

/// Unlocks the lock at `address`, the innermost that `thread` holds, as it was done before patches
/// 3 and 5: by `forward`. Where it takes a closer look, `oddly` does that.
#[inline(always)]
pub fn unlock(
    thread: &mut ThreadState,
    address: u64,
    forward: impl FnOnce() -> c_int,
    oddly: impl FnOnce(&mut ThreadState),
) -> c_int {
    let mut is_off = RELEASE_INSIDE && take_off(thread, address);
    let result = forward();
    if !RELEASE_INSIDE && result == 0 {
        is_off = take_off(thread, address);
    }
    if result == 0 && !is_off {
        oddly(thread);
    }
    result
}

#[inline(always)]
fn take_off(thread: &mut ThreadState, address: u64) -> bool {
    if SEARCH_EVERY_RELEASE && thread.find(address) != Some(thread.depth()) {
        return false;
    }
    thread.release_top()
}
