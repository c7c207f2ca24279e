//! Reader-writer locks. Reads and writes are counted apart; how reads overlap is counted for each lock, in
//! a row whose place the lock's own padding keeps.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering::*};

use libc::{EBUSY, clockid_t, pthread_rwlock_t, timespec};
use lockwright_engines::lockdep::Ident;
use lockwright_engines::lockmeter::{CellRef, MeterThread, Overlap};
use lockwright_ledger::rows::mode;

use super::wait::{self, Contended, Owner};
use super::{Target, clock, hold, readers_at, readers_of, spot, subject, tls};
use crate::callsite::Return;
use crate::libc::real;
use crate::lock_id::identity;
use crate::os::deadline;

type RwLock = *mut pthread_rwlock_t;

/// `pthread_rwlock_rdlock`.
pub unsafe extern "C-unwind" fn rdlock(l: RwLock, site: u64, back: Return) -> c_int {
    // SAFETY: forwarded.
    unsafe { acquire(l, site, back, mode::READ, || real::pthread_rwlock_rdlock(l)) }
}

/// `pthread_rwlock_wrlock`.
pub unsafe extern "C-unwind" fn wrlock(l: RwLock, site: u64, back: Return) -> c_int {
    // SAFETY: forwarded.
    unsafe { acquire(l, site, back, 0, || real::pthread_rwlock_wrlock(l)) }
}

/// `pthread_rwlock_timedrdlock`.
pub unsafe extern "C-unwind" fn timedrdlock(
    l: RwLock,
    t: *const timespec,
    site: u64,
    back: Return,
) -> c_int {
    // SAFETY: forwarded.
    let block = || unsafe { real::pthread_rwlock_timedrdlock(l, t) };
    // SAFETY: the caller's lock and deadline.
    unsafe {
        match deadline::is_time_or_none(t) {
            true => acquire(l, site, back, mode::READ, block),
            false => block(),
        }
    }
}

/// `pthread_rwlock_timedwrlock`.
pub unsafe extern "C-unwind" fn timedwrlock(
    l: RwLock,
    t: *const timespec,
    site: u64,
    back: Return,
) -> c_int {
    // SAFETY: forwarded.
    let block = || unsafe { real::pthread_rwlock_timedwrlock(l, t) };
    // SAFETY: the caller's lock and deadline.
    unsafe {
        match deadline::is_time_or_none(t) {
            true => acquire(l, site, back, 0, block),
            false => block(),
        }
    }
}

/// `pthread_rwlock_clockrdlock`.
pub unsafe extern "C-unwind" fn clockrdlock(
    l: RwLock,
    clock: clockid_t,
    t: *const timespec,
    site: u64,
    back: Return,
) -> c_int {
    // SAFETY: forwarded.
    let block = || unsafe { real::pthread_rwlock_clockrdlock(l, clock, t) };
    // SAFETY: the caller's lock and deadline.
    unsafe {
        match deadline::is_clock(clock) && deadline::is_time_or_none(t) {
            true => acquire(l, site, back, mode::READ, block),
            false => block(),
        }
    }
}

/// `pthread_rwlock_clockwrlock`.
pub unsafe extern "C-unwind" fn clockwrlock(
    l: RwLock,
    clock: clockid_t,
    t: *const timespec,
    site: u64,
    back: Return,
) -> c_int {
    // SAFETY: forwarded.
    let block = || unsafe { real::pthread_rwlock_clockwrlock(l, clock, t) };
    // SAFETY: the caller's lock and deadline.
    unsafe {
        match deadline::is_clock(clock) && deadline::is_time_or_none(t) {
            true => acquire(l, site, back, 0, block),
            false => block(),
        }
    }
}

/// `pthread_rwlock_tryrdlock`.
pub unsafe extern "C-unwind" fn tryrdlock(l: RwLock, site: u64, back: Return) -> c_int {
    // SAFETY: the caller's lock.
    unsafe { attempt(l, site, back, mode::READ, true) }
}

/// `pthread_rwlock_trywrlock`.
pub unsafe extern "C-unwind" fn trywrlock(l: RwLock, site: u64, back: Return) -> c_int {
    // SAFETY: the caller's lock.
    unsafe { attempt(l, site, back, 0, true) }
}

/// Tries for the lock, and waits by `block` if it is not to be had at once.
#[inline(always)]
unsafe fn acquire(
    l: RwLock,
    site: u64,
    back: Return,
    mode: u16,
    block: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the caller's lock.
    match unsafe { attempt(l, site, back, mode, false) } {
        // SAFETY: as above.
        EBUSY => unsafe { waited_for(l, site, mode, block) },
        result => result,
    }
}

/// Tries for the lock. EBUSY is a reject, or leaves no trace.
#[inline(always)]
unsafe fn attempt(l: RwLock, site: u64, back: Return, mode: u16, rejects: bool) -> c_int {
    // SAFETY: forwarded.
    let try_lock = || unsafe {
        match mode {
            0 => real::pthread_rwlock_trywrlock(l),
            _ => real::pthread_rwlock_tryrdlock(l),
        }
    };
    let Some((thread, ident)) = subject(l) else { return try_lock() };
    let target = Target { addr: l as u64, ident, mode, site, back };
    let Some(spot) = spot(thread, &target) else { return try_lock() };
    spot.cell.begin();
    let since = hold::begin(thread, l as u64, spot, mode != 0);
    let result = try_lock();
    if result != 0 {
        hold::cancel(thread, result == EBUSY && rejects);
    } else if mode != 0 {
        // SAFETY: the caller's lock, which it reads.
        unsafe { comes(l, ident, spot.cell, since) };
    }
    result
}

/// `back` is not kept over the first try: what it saves is nothing beside a wait.
#[cold]
unsafe fn waited_for(l: RwLock, site: u64, mode: u16, block: impl FnOnce() -> c_int) -> c_int {
    let Some((thread, ident)) = subject(l) else { return block() };
    let target = Target { addr: l as u64, ident, mode, site, back: Return::UNKNOWN };
    let Some(spot) = spot(thread, &target) else { return block() };
    // `__cur_writer` at offset 24, 0 if readers hold it.
    let owner = Owner::At(l.cast::<u32>().wrapping_add(6));
    let contended = Contended { owner, spins: false, shared: mode != 0 };
    let result = wait::lock(thread, &target, spot, contended, block);
    if result == 0 && mode != 0 {
        // SAFETY: the caller's lock, which it reads.
        unsafe { has_come(l) };
    }
    result
}

/// `pthread_rwlock_unlock`.
pub unsafe extern "C-unwind" fn unlock(l: RwLock, _site: u64) -> c_int {
    // SAFETY: forwarded; the caller's lock.
    unsafe { release(l, || real::pthread_rwlock_unlock(l)) }
}

/// Lets the lock go by `unlock`.
#[inline(always)]
pub unsafe fn release(l: RwLock, unlock: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: as `super::thread`; who has no meter holds nothing.
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
pub unsafe fn has_come(l: RwLock) {
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

/// Where the lock keeps the place of its row: bytes 36..40, padding.
unsafe fn place(l: RwLock) -> &'static AtomicU32 {
    // SAFETY: the caller's lock; aligned, and only accessed so.
    unsafe { AtomicU32::from_ptr(l.cast::<u32>().add(9)) }
}

/// One more reader has the lock, since `since` (0: not timed).
#[inline(always)]
unsafe fn comes(l: RwLock, ident: Ident, cell: CellRef, since: u64) {
    // SAFETY: the caller's lock. Relaxed: whoever stored it made the row under the core's lock, and the
    // row's own words are atomics.
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

/// A reader is about to leave, at the time `now` (0: not read): before it lets go, so that the count is
/// never below that of the readers.
#[inline(always)]
unsafe fn goes(l: RwLock, now: u64) -> Option<Overlap> {
    let clock = || if now != 0 { now } else { clock::now() };
    // SAFETY: the caller's lock; its identity cannot change while it is held.
    let ident = unsafe { identity::stamped(l) }?;
    // SAFETY: as above.
    readers_at(unsafe { place(l) }.load(Relaxed), ident)?.goes(clock)
}
