//! Reader-writer locks. Reads and writes are counted apart; how reads overlap is counted for each
//! lock, in a row whose place the lock's own padding keeps.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering::*};

use libc::pthread_rwlock_t;
use lockwright_engines::lockdep::Ident;
use lockwright_engines::lockmeter::{CellRef, MeterThread, Overlap};
use lockwright_glibc::table::rwlock;

use super::acquire::Counted;
use super::{clock, hold, readers_at, readers_of, tls};
use crate::libc::real;
use crate::lock_id::identity;

type RwLock = *mut pthread_rwlock_t;

impl Counted for pthread_rwlock_t {
    #[inline(always)]
    unsafe fn had(this: *mut Self, mode: u16, ident: Ident, cell: CellRef, since: u64) {
        if mode != 0 {
            // SAFETY: the caller's lock, which it reads.
            unsafe { comes(this, ident, cell, since) };
        }
    }

    #[inline(always)]
    unsafe fn had_after_wait(this: *mut Self, mode: u16) {
        if mode != 0 {
            // SAFETY: the caller's lock, which it reads.
            unsafe { has_come(this) };
        }
    }
}

/// `pthread_rwlock_unlock`.
pub unsafe extern "C-unwind" fn unlock(l: RwLock, _site: u64) -> c_int {
    // SAFETY: forwarded; the caller's lock.
    unsafe { release(l, || real::pthread_rwlock_unlock(l)) }
}

/// Lets the lock go by `unlock`.
#[inline(always)]
pub unsafe fn release(l: RwLock, unlock: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: as `super::thread`; a thread without a meter holds nothing.
    let thread = unsafe { &mut *tls::raw() };
    if let Some(ending) = thread.innermost(l as u64) {
        return hold::end_innermost(thread, l as u64, ending, unlock);
    }
    let Some(ending) = thread.innermost_shared(l as u64) else {
        // SAFETY: as above.
        return unsafe { release_otherwise(l, thread, unlock) };
    };
    let now = hold::ending(l as u64, ending, true);
    // SAFETY: the caller's lock.
    let left = unsafe { goes(l, now) };
    let result = hold::end_innermost_at(thread, now, unlock);
    if let Some(left) = left {
        left.record();
    }
    result
}

#[cold]
#[inline(never)]
unsafe fn release_otherwise(
    l: RwLock,
    thread: &mut MeterThread,
    unlock: impl FnOnce() -> c_int,
) -> c_int {
    let reads = thread.entry_of(l as u64).is_some_and(|held| MeterThread::is_shared(&held));
    // SAFETY: the caller's lock.
    let left = if reads { unsafe { goes(l, 0) } } else { None };
    let result = hold::end(thread, l as u64, unlock);
    if let Some(left) = left {
        left.record();
    }
    result
}

/// A reader has taken the lock, whose entry has been made.
unsafe fn has_come(l: RwLock) {
    // SAFETY: as in `release`.
    let thread = unsafe { &mut *tls::raw() };
    // SAFETY: the caller's lock.
    let ident = unsafe { identity::stamped(l) };
    if let Some(held) = thread.entry_of(l as u64)
        && let Some(cell) = MeterThread::cell_of(&held)
        && let Some(ident) = ident
    {
        // SAFETY: as above.
        unsafe { comes(l, ident, cell, held.since) };
    }
}

/// Where the lock keeps the place of its row: padding, behind the byte that lock elision has.
unsafe fn place(l: RwLock) -> &'static AtomicU32 {
    // SAFETY: the caller's lock; aligned, and only accessed so.
    unsafe { AtomicU32::from_ptr(l.cast::<u32>().byte_add(rwlock::PAD1.always() + 4)) }
}

/// One more reader has the lock, since `since` (0: not timed).
#[inline(always)]
unsafe fn comes(l: RwLock, ident: Ident, cell: CellRef, since: u64) {
    // SAFETY: the caller's lock. Relaxed: the thread that stored it made the row under the core's
    // lock, and the row's own words are atomics.
    let place = unsafe { place(l) };
    let readers = match readers_at(place.load(Relaxed), ident) {
        Some(readers) => readers,
        None => {
            let Some(at) = readers_of(ident) else { return };
            place.store(at, Relaxed);
            let Some(readers) = readers_at(at, ident) else { return };
            readers
        }
    };
    cell.saw_readers(readers.comes(since));
}

/// A reader is about to leave, at the time `now` (0: not read): before it lets go, so that the
/// count is never below that of the readers.
#[inline(always)]
unsafe fn goes(l: RwLock, now: u64) -> Option<Overlap> {
    let clock = || if now != 0 { now } else { clock::now() };
    // SAFETY: the caller's lock; its identity cannot change while it is held.
    let ident = unsafe { identity::stamped(l) }?;
    // SAFETY: as above.
    readers_at(unsafe { place(l) }.load(Relaxed), ident)?.goes(clock)
}
