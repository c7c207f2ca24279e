//! Mutexes.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use libc::{EBUSY, EOWNERDEAD, clockid_t, pthread_mutex_t, timespec};
use lockwright_engines::lockmeter::{CellRef, MeterThread, key};

use super::wait::{self, Manner, Owner};
use super::{Spot, Target, WHAT, hold, spot, subject, tls};
use crate::identity::{self, kind_of, mutex_kind};
use crate::real;

type Mutex = *mut pthread_mutex_t;

/// Taking the mutex now would be taking it once more: it is recursive, and the thread may hold it. Asked
/// before, as its memory is best left alone while it is held: who waits for it may have made it his.
#[inline(always)]
pub unsafe fn may_recur(m: Mutex, thread: &MeterThread) -> bool {
    // SAFETY: the caller's mutex.
    !thread.is_idle() && unsafe { kind_of(m) } & mutex_kind::TYPE == mutex_kind::RECURSIVE
}

/// Its word: the owner's thread id for special ones; not 0 if it is taken.
unsafe fn word(m: Mutex) -> u32 {
    // SAFETY: the caller's mutex; `__lock` at offset 0.
    unsafe { m.cast::<u32>().read_volatile() }
}

/// Robust, PI, PP: a trylock is not just a lock that does not wait.
unsafe fn is_special(m: Mutex) -> bool {
    // SAFETY: the caller's mutex.
    unsafe { kind_of(m) & mutex_kind::SPECIAL != 0 }
}

/// `pthread_mutex_lock`.
pub unsafe extern "C-unwind" fn lock(m: Mutex, site: u64) -> c_int {
    // SAFETY: the caller's mutex; as `super::thread`, and who has no meter knows no cell.
    let (ident, thread) = unsafe { (identity::stamped_plain(m), &mut *tls::raw()) };
    // The fast path: an ordinary mutex at a call site that this thread knows.
    if let Some(ident) = ident
        && let Some(cell) = thread.known(key(ident.0 & WHAT.load(Relaxed), 0, site))
        // SAFETY: as above.
        && !unsafe { may_recur(m, thread) }
    {
        cell.begin();
        // SAFETY: forwarded.
        let result = unsafe { real::pthread_mutex_trylock(m) };
        if result == 0 {
            // Asked for once more, rather than kept over the call.
            // SAFETY: as above.
            let thread = unsafe { &mut *tls::raw() };
            hold::begin(thread, m as u64, Spot { cell, trial: None }, false);
            return 0;
        }
        if result != EBUSY {
            return had_plainly(m, cell, result);
        }
        cell.take_back();
        // SAFETY: forwarded.
        return unsafe { waited_for(m, site, || real::pthread_mutex_lock(m)) };
    }
    // SAFETY: as above.
    unsafe { lock_otherwise(m, site) }
}

#[cold]
#[inline(never)]
fn had_plainly(m: Mutex, cell: CellRef, result: c_int) -> c_int {
    // SAFETY: as in `lock`.
    had_otherwise(m, unsafe { &mut *tls::raw() }, Spot { cell, trial: None }, result, false)
}

#[cold]
#[inline(never)]
unsafe fn lock_otherwise(m: Mutex, site: u64) -> c_int {
    // SAFETY: forwarded.
    unsafe { acquire(m, site, || real::pthread_mutex_lock(m)) }
}

/// `pthread_mutex_timedlock`.
pub unsafe extern "C-unwind" fn timedlock(m: Mutex, timeout: *const timespec, site: u64) -> c_int {
    // SAFETY: forwarded.
    unsafe { acquire(m, site, || real::pthread_mutex_timedlock(m, timeout)) }
}

/// `pthread_mutex_clocklock`.
pub unsafe extern "C-unwind" fn clocklock(
    m: Mutex,
    clock: clockid_t,
    timeout: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: forwarded.
    unsafe { acquire(m, site, || real::pthread_mutex_clocklock(m, clock, timeout)) }
}

/// `pthread_mutex_trylock`.
pub unsafe extern "C-unwind" fn trylock(m: Mutex, site: u64) -> c_int {
    // SAFETY: the caller's mutex.
    unsafe { attempt(m, site, true) }
}

/// Tries for the mutex, where that is the same as its first step, and waits by `block` if it is not to be had
/// at once.
unsafe fn acquire(m: Mutex, site: u64, block: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the caller's mutex.
    match unsafe { if is_special(m) { EBUSY } else { attempt(m, site, false) } } {
        // SAFETY: as above.
        EBUSY => unsafe { waited_for(m, site, block) },
        result => result,
    }
}

/// Tries for the mutex. EBUSY is a reject, or leaves no trace.
#[inline(always)]
unsafe fn attempt(m: Mutex, site: u64, rejects: bool) -> c_int {
    // SAFETY: forwarded.
    let try_lock = || unsafe { real::pthread_mutex_trylock(m) };
    let Some((thread, ident)) = subject(m) else { return try_lock() };
    let target = Target { addr: m as u64, ident, mode: 0, site };
    let Some(spot) = spot(thread, &target) else { return try_lock() };
    // SAFETY: the caller's mutex.
    let recurs = unsafe { may_recur(m, thread) };
    spot.cell.begin();
    let result = try_lock();
    if result == EBUSY && rejects {
        spot.cell.reject();
        return result;
    }
    if result != 0 || recurs {
        return had_otherwise(m, thread, spot, result, recurs);
    }
    hold::begin(thread, m as u64, spot, false);
    0
}

/// The trylock did not simply take the mutex.
#[cold]
#[inline(never)]
fn had_otherwise(
    m: Mutex,
    thread: &mut MeterThread,
    spot: Spot,
    result: c_int,
    recurs: bool,
) -> c_int {
    let is_had = result == 0 || result == EOWNERDEAD;
    if is_had && !(recurs && thread.recurse(m as u64)) {
        hold::begin(thread, m as u64, spot, false);
    } else {
        // Not had, or had already: taking a mutex again that one holds is no acquisition.
        spot.cell.take_back();
    }
    result
}

#[cold]
unsafe fn waited_for(m: Mutex, site: u64, block: impl FnOnce() -> c_int) -> c_int {
    let Some((thread, ident)) = subject(m) else { return block() };
    let target = Target { addr: m as u64, ident, mode: 0, site };
    let Some(spot) = spot(thread, &target) else { return block() };
    // SAFETY: the caller's mutex.
    let (special, word) = unsafe { (is_special(m), word(m)) };
    if special && word & libc::FUTEX_TID_MASK == 0 {
        // SAFETY: the caller's mutex.
        let recurs = unsafe { may_recur(m, thread) };
        spot.cell.begin();
        return had_otherwise(m, thread, spot, block(), recurs);
    }
    // `__owner` at offset 8.
    let owner = Owner::At(m.cast::<u32>().wrapping_add(2));
    wait::lock(thread, &target, spot, Manner { owner, spins: false, shared: false }, block)
}

/// `pthread_mutex_unlock`.
pub unsafe extern "C-unwind" fn unlock(m: Mutex, _site: u64) -> c_int {
    // SAFETY: forwarded.
    hold::release(m as u64, || unsafe { real::pthread_mutex_unlock(m) })
}
