//! The locks in memory that is about to be given back.

use core::ffi::c_void;
use core::sync::atomic::Ordering::Relaxed;

use lockwright_engines::lockdep::ThreadState;
use lockwright_ledger::rows::finding_kind;
use lockwright_ledger::rows::object::object_end;

use crate::debugobjects;
use crate::lock_id::lock_pages::{
    LOCK_PAGES, PAGE, PAGES, STAMPED, TRACKED, UNSTAMPED, is_noted, seen,
};
use crate::lock_id::{bit_locks, identity, unstamped};
use crate::lockdep::annotate::user_locks;
use crate::lockdep::misuse;
use crate::lockmeter;
use crate::os::tls;
use crate::recorder::measured::measured_short;

/// Takes the identities of all locks in a block that is about to be freed, and tells if one is
/// held, or another object in use.
///
/// # Safety
/// The caller's block of `len` bytes.
#[cold]
pub unsafe fn look(thread: &mut ThreadState, block: *mut c_void, len: usize) {
    if len != 0 {
        // SAFETY: the caller promises its block of `len` bytes.
        measured_short(|| unsafe { look_unmeasured(thread, block, len) });
    }
}

/// # Safety
/// As for [`look`]; the block has a byte.
unsafe fn look_unmeasured(thread: &mut ThreadState, block: *mut c_void, len: usize) {
    let (from, to) = (block as u64, block as u64 + len as u64);
    let seen_here = seen(from, to);
    if seen_here & UNSTAMPED != 0 {
        bit_locks_go(from, to);
    }
    let mut taken = seen_here & UNSTAMPED != 0 && unstamped::forget_range(from, to);
    if seen_here & STAMPED != 0 {
        // Only these pages: of a large block most may never have been touched.
        for page in from / PAGE..=(to - 1) / PAGE {
            if LOCK_PAGES[page as usize % PAGES].load(Relaxed) & STAMPED != 0 {
                let part = from.max(page * PAGE) - from..to.min((page + 1) * PAGE) - from;
                // SAFETY: `part` lies in this page's share of `from..to`, so it is within the
                // caller's live block.
                taken |= unsafe {
                    identity::unstamp(block.cast(), part.start as usize..part.end as usize)
                };
            }
        }
    }
    let told =
        if taken { misuse::if_held(thread, finding_kind::HELD_FREED, from, to) } else { None };
    if seen_here & TRACKED != 0 {
        debugobjects::freed_memory::check(from, to, object_end::FREED, told);
    }
}

/// Memory is about to go. A holder may release a bit lock by freeing its word: the lock is no
/// longer held, and that is no misuse.
pub fn bit_locks_go(from: u64, to: u64) {
    bit_locks::go(from, to, |lock| {
        user_locks::release_by_any(lock);
        if lockmeter::is_wanted() {
            // SAFETY: known by its address; the memory is not looked at.
            unsafe { lockmeter::user_locks::release(lock, 0) };
        }
    });
}

/// A block is about to be given back to a library that keeps it and hands it out again.
///
/// # Safety
/// The caller's block of `len` bytes, or none.
pub unsafe fn given_back(block: *mut c_void, len: usize) {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    if let Some(thread) = unsafe { tls::get().as_mut() }
        && !block.is_null()
        && len != 0
        && is_noted(block as u64, block as u64 + len as u64)
    {
        // SAFETY: the caller promises a block of `len` bytes, which is not yet given back.
        unsafe { look(thread, block, len) };
    }
}
