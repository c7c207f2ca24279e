//! User-defined locks. The program reports each acquisition in its steps, and takes the lock
//! itself: there is nothing to call, and no way to look up its holder.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use lockwright_engines::lockdep::Ident;
use lockwright_engines::lockmeter::{MeterThread, Pending, key};
use lockwright_ledger::rows::mode;

use super::meter::{SAMPLE, WHAT, prepare};
use super::spots::{spot, subject};
use super::target::{Spot, Target};
use super::{clock, hold, record, rwlock, tls, wait};
use crate::callsite::Return;
use crate::lock_id::by_address::{UserLock, flag};
use crate::lock_id::unstamped;

/// `lockwright_acquire`.
///
/// # Safety
/// The arguments keep the contract of `lockwright_acquire`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn acquire(lock: u64, flags: u32, site: u64, back: Return) -> c_int {
    if lock != 0
        && let Some((thread, ident)) = subject(lock as *const UserLock)
    {
        begin(thread, lock, ident, flags, site, back);
    }
    0
}

fn begin(thread: &mut MeterThread, lock: u64, ident: Ident, flags: u32, site: u64, back: Return) {
    if flags & flag::RECURSIVE != 0 && flags & flag::FAILED == 0 && thread.recurse(lock) {
        return;
    }
    let mode = if flags & flag::READ != 0 { mode::READ } else { 0 };
    let Some(spot) =
        spot(thread, &Target { addr: lock, ident, mode, site, back, has_lines: false })
    else {
        return;
    };
    spot.cell.begin();
    if flags & flag::FAILED != 0 {
        spot.cell.reject();
    } else if flags & flag::TRY != 0 {
        hold::begin(thread, lock, spot, mode != 0);
    } else {
        thread.reserve(lock, spot.cell, spot.trial, mode != 0);
    }
}

/// The lock has been taken at once, which was no try, where this thread has taken such a lock before. False: nothing was done.
#[inline(always)]
pub fn taken_known(lock: u64, flags: u32, site: u64) -> bool {
    let Some(ident) = unstamped::find(lock) else { return false };
    let mode = if flags & flag::READ != 0 { mode::READ } else { 0 };
    let key = key(ident.0 & WHAT.load(Relaxed), mode, site);
    let Some((thread, cell)) = tls::own_with(|meter| meter.known(key)) else { return false };
    if !thread.is_idle() && thread.position_of(lock).is_some() {
        return false;
    }
    if mode == 0 && SAMPLE.load(Relaxed) == 1 && clock::is_enough() {
        // Counted with its release.
        thread.acquired_uncounted(lock, cell, clock::tsc());
        return true;
    }
    cell.begin();
    hold::begin(thread, lock, Spot { cell, trial: None }, mode != 0);
    true
}

/// The lock is about to be released.
#[inline(always)]
pub fn releases(lock: u64) {
    match tls::own_with(|meter| meter.innermost_uncounted(lock)) {
        Some(_) => hold::release::<true, false>(lock, || 0),
        None => rwlock::release(lock, || 0),
    };
}

/// The calling thread has announced the lock's acquisition.
pub fn is_announced(lock: u64) -> bool {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    unsafe { tls::get().as_mut() }.is_some_and(|thread| thread.reserved_cell(lock).is_some())
}

/// The calling thread holds the lock.
pub fn is_held(lock: u64) -> bool {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    unsafe { tls::get().as_mut() }.is_some_and(|thread| thread.entry_of(lock).is_some())
}

/// `lockwright_contended`.
///
/// # Safety
/// The arguments keep the contract of `lockwright_contended`.
pub unsafe extern "C-unwind" fn contended(lock: u64, _site: u64) -> c_int {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else { return 0 };
    let Some(cell) = thread.reserved_cell(lock) else { return 0 };
    if thread.is_contending(lock) {
        return 0;
    }
    prepare(thread);
    if thread.can_contend() {
        let wait = wait::begin(thread, lock, cell);
        thread.contend(wait);
    }
    0
}

/// The wait for the lock is over, if there was one.
fn waited(thread: &mut MeterThread, lock: u64) -> Option<Pending> {
    thread.contended(lock).map(|wait| wait::end(thread, &wait))
}

/// `lockwright_acquired`.
///
/// # Safety
/// The arguments keep the contract of `lockwright_acquired`.
pub unsafe extern "C-unwind" fn acquired(lock: u64, _site: u64) -> c_int {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else { return 0 };
    // A recursive acquisition or a trylock has no step under way.
    if thread.reserved_cell(lock).is_none() {
        return 0;
    }
    let waited = waited(thread, lock);
    let keeps = waited.is_some() && thread.can_keep();
    if let Some(waited) = waited.as_ref().filter(|_| !keeps) {
        record::wait(thread, waited);
    }
    hold::begin_reserved(thread, lock, waited.as_ref().filter(|_| keeps));
    0
}

/// `lockwright_abandoned`.
///
/// # Safety
/// The arguments keep the contract of `lockwright_abandoned`.
pub unsafe extern "C-unwind" fn abandoned(lock: u64, _site: u64) -> c_int {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else { return 0 };
    let Some(cell) = thread.reserved_cell(lock) else { return 0 };
    cell.time_out();
    let waited = waited(thread, lock);
    thread.abandon_reserved(lock);
    if let Some(waited) = waited {
        record::wait(thread, &waited);
    }
    0
}

/// `lockwright_release`.
///
/// # Safety
/// The arguments keep the contract of `lockwright_release`.
pub unsafe extern "C-unwind" fn release(lock: u64, _site: u64) -> c_int {
    // It is let go right after this.
    hold::release_around(lock, || 0)
}
