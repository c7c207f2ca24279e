//! lockdep's fast paths as they were before the patches of "locking/lockdep: Improve lockdep
//! performance" (2018), as far as the patches mean something here. A feature of the preload library
//! undoes each, and `guest/preload/src/lockdep/locks/mod.rs` then compiles this file instead of
//! `fast_path.rs`.
//!
//! | feature       | as it ships                                  | with the feature                    |
//! |---------------|----------------------------------------------|-------------------------------------|
//! | `unpatched-2` | attaching a thread checks whether we watch   | each acquisition checks that        |
//! | `unpatched-3` | a release takes the innermost lock off       | it searches for the lock            |
//! | `unpatched-4` | each thread counts its acquisitions          | so does one shared counter a class  |
//! | `unpatched-5` | a release is recorded after the unlock       | before it, in the critical section  |
//!
//! (Patch 1 removed a function that nobody called.)

use core::ffi::c_int;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use lockwright_engines::lockdep::{Chain, Ident, ThreadState};

pub use self::shipped::holder;
use crate::recorder::state;

#[path = "../../guest/preload/src/lockdep/locks/fast_path.rs"]
mod shipped;

const CHECK_EVERY_ACQUIRE: bool = cfg!(feature = "unpatched-2");
const SEARCH_EVERY_RELEASE: bool = cfg!(feature = "unpatched-3");
const COUNT_BY_CLASS: bool = cfg!(feature = "unpatched-4");
const RELEASE_INSIDE: bool = cfg!(feature = "unpatched-5");

/// As it ships, after what an acquisition did before patches 2 and 4.
#[inline(always)]
pub fn chain(ident: Ident, mode: u16) -> Option<(&'static mut ThreadState, Chain)> {
    static COUNTS: [AtomicU64; 4096] = [const { AtomicU64::new(0) }; 4096];
    if COUNT_BY_CLASS {
        // Relaxed: a count.
        COUNTS[ident.class() as usize % COUNTS.len()].fetch_add(1, Relaxed);
    }
    if CHECK_EVERY_ACQUIRE && state::status() != state::ACTIVE {
        return None;
    }
    shipped::chain(ident, mode)
}

/// As it ships, but recorded as before patches 3 and 5.
#[inline(always)]
pub fn unlock(
    address: u64,
    unlock: impl FnOnce(&mut ThreadState) -> c_int,
    slow: impl FnOnce(&mut ThreadState, c_int),
) -> Option<c_int> {
    if !SEARCH_EVERY_RELEASE && !RELEASE_INSIDE {
        return shipped::unlock(address, unlock, slow);
    }
    let thread = holder(address)?;
    let mut is_off = RELEASE_INSIDE && take_off(thread, address);
    let result = unlock(thread);
    if !RELEASE_INSIDE && result == 0 {
        is_off = take_off(thread, address);
    }
    // A lock that was taken off before an unlock that failed stays so.
    if !is_off {
        slow(thread, result);
    }
    Some(result)
}

#[inline(always)]
fn take_off(thread: &mut ThreadState, address: u64) -> bool {
    if SEARCH_EVERY_RELEASE && thread.find(address) != Some(thread.depth()) {
        return false;
    }
    thread.release_top()
}
