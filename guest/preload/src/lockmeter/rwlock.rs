//! Reader-writer locks. Reads and writes are counted apart; how reads overlap is counted for each
//! lock, in a row whose place the lock's own padding keeps.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering::*};

use libc::pthread_rwlock_t;
use lockwright_engines::lockdep::Ident;
use lockwright_engines::lockmeter::{CellRef, Ending, MeterThread, ReadersRef};
use lockwright_glibc::table::rwlock;

use super::acquire::Counted;
use super::meter::BOARDS;
use super::spots::{readers_at, readers_of};
use super::{clock, hold, tls};
use crate::libc::real;
use crate::lock_id::identity;

type RwLock = *mut pthread_rwlock_t;

impl Counted for pthread_rwlock_t {
    #[inline(always)]
    unsafe fn had(
        this: *mut Self,
        thread: &mut MeterThread,
        mode: u16,
        ident: Ident,
        cell: CellRef,
        since: u64,
    ) {
        if mode != 0
            // SAFETY: the calling thread has just taken the caller's lock for reading.
            && let Some(readers) = unsafe { readers(this, ident) }
        {
            cell.saw_readers(readers.comes(since));
            thread.reads(readers);
        }
    }

    #[inline(always)]
    unsafe fn had_after_wait(this: *mut Self, mode: u16) {
        if mode != 0 {
            // SAFETY: the calling thread has just taken the caller's lock for reading.
            unsafe { has_come(this) };
        }
    }
}

/// `pthread_rwlock_unlock`.
///
/// # Safety
/// The arguments keep the contract of `pthread_rwlock_unlock`.
pub unsafe extern "C-unwind" fn unlock(l: RwLock, _site: u64) -> c_int {
    // SAFETY: `l` is the program's own lock, and `pthread_rwlock_unlock` gets it unchanged.
    release(l as u64, move || unsafe { real::pthread_rwlock_unlock(l) })
}

/// Lets the lock at `addr` go by `unlock`. Its memory is not looked at.
#[inline(always)]
pub fn release(addr: u64, unlock: impl FnOnce() -> c_int) -> c_int {
    let innermost = |meter: &MeterThread| {
        let alone = meter.innermost(addr).map(|ending| (ending, None));
        alone.or_else(|| meter.innermost_shared(addr).map(|(e, readers)| (e, Some(readers))))
    };
    let Some((thread, (ending, shared))) = tls::own_with(innermost) else {
        return release_slow(addr, unlock);
    };
    let Some(readers) = shared else {
        return hold::end_innermost(thread, addr, ending, unlock);
    };
    // As in `hold::end_innermost`.
    if BOARDS.is_waited_for(addr) || (ending.since != 0 && !clock::is_enough()) {
        return release_shared(thread, addr, ending, readers, unlock);
    }
    let now = if ending.since == 0 { 0 } else { clock::tsc() };
    if let Some(readers) = readers {
        goes(readers, now);
    }
    hold::end_innermost_at(thread, hold::NO_TIMELINE, now, unlock)
}

/// The innermost lock that the thread holds goes, which others can share: one that is waited for, or of which more is to be known.
#[inline(never)]
fn release_shared(
    thread: &mut MeterThread,
    addr: u64,
    ending: Ending,
    readers: Option<ReadersRef>,
    unlock: impl FnOnce() -> c_int,
) -> c_int {
    let (now, is_charged) = hold::ending(thread, addr, ending, true);
    if let Some(readers) = readers {
        goes(readers, now);
    }
    let addr = if is_charged { hold::NO_TIMELINE } else { addr };
    hold::end_innermost_at(thread, addr, now, unlock)
}

/// The slow path of [`release`]: the lock is not the innermost that the thread holds.
#[cold]
#[inline(never)]
fn release_slow(addr: u64, unlock: impl FnOnce() -> c_int) -> c_int {
    let Some((thread, held)) = tls::own_with(|meter| meter.entry_of(addr)) else {
        return unlock();
    };
    if let Some(readers) = MeterThread::readers_of(&held) {
        goes(readers, 0);
    }
    hold::end(thread, addr, unlock)
}

/// A reader has taken the lock, whose entry has been made.
///
/// # Safety
/// `l` points to a lock that the calling thread has just taken for reading.
unsafe fn has_come(l: RwLock) {
    let Some((thread, i)) = tls::own_with(|meter| meter.position_of(l as u64)) else { return };
    let held = thread.held_at(i);
    // SAFETY: the program passed `l` to this call, so it points to its lock, as `stamped` asks.
    let ident = unsafe { identity::stamped(l) };
    if let Some(cell) = MeterThread::cell_of(&held)
        && let Some(ident) = ident
        // SAFETY: the caller promises its lock, which this thread reads.
        && let Some(readers) = unsafe { readers(l, ident) }
    {
        cell.saw_readers(readers.comes(held.since));
        thread.reads_at(i, readers);
    }
}

/// Where the lock keeps the place of its row: padding, behind the byte that lock elision has.
///
/// # Safety
/// `l` points to a lock, whose padding nobody else uses while the result is used.
unsafe fn place(l: RwLock) -> &'static AtomicU32 {
    // SAFETY: the caller's lock; aligned, and only accessed so.
    unsafe { AtomicU32::from_ptr(l.cast::<u32>().byte_add(rwlock::PAD1.always() + 4)) }
}

/// The row of the lock's readers, made if there is none yet.
///
/// # Safety
/// `l` points to a lock that the calling thread has for reading, of that identity.
#[inline(always)]
unsafe fn readers(l: RwLock, ident: Ident) -> Option<ReadersRef> {
    // SAFETY: the caller's lock. Relaxed: the thread that stored it made the row under the core's
    // lock, and the row's own words are atomics.
    let place = unsafe { place(l) };
    if let Some(readers) = readers_at(place.load(Relaxed), ident) {
        return Some(readers);
    }
    let at = readers_of(ident)?;
    place.store(at, Relaxed);
    readers_at(at, ident)
}

/// A reader is about to leave, at the time `now` (0: not read): before it lets go, so that the
/// count is never below that of the readers.
#[inline(always)]
fn goes(readers: ReadersRef, now: u64) {
    readers.goes(|| if now != 0 { now } else { clock::now() });
}
