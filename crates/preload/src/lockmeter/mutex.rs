//! Mutexes.

use core::arch::naked_asm;
use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use libc::{EBUSY, EOWNERDEAD, clockid_t, pthread_mutex_t, timespec};
use lockwright_engines::lockdep::Ident;
use lockwright_engines::lockmeter::{CellRef, MeterThread, key};
use lockwright_ledger::site;

use super::wait::{self, Contended, Owner};
use super::{Spot, Target, WHAT, hold, spot, subject, tls};
use crate::callsite::{self, Return};
use crate::libc::real;
use crate::lock_id::identity::{self, kind_of, mutex_kind};
use crate::os::deadline;

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

/// `pthread_mutex_lock`. `stack` is where the call has put `site`, its return address. `EVERY` is as for
/// [`hold::since_now`].
pub unsafe extern "C-unwind" fn lock<const EVERY: bool>(
    m: Mutex,
    site: u64,
    stack: *const u64,
) -> c_int {
    // SAFETY: the caller's mutex; as `super::thread`, and who has no meter knows no cell.
    let (ident, thread) = unsafe { (identity::stamped_plain(m), &mut *tls::raw()) };
    // The fast path: an ordinary mutex at a call site that this thread knows.
    let Some(ident) = ident else {
        // SAFETY: forwarded.
        return unsafe { lock_otherwise(m, site, stack) };
    };
    let Some(cell) = thread.known(key(ident.0 & WHAT.load(Relaxed), 0, site)) else {
        // SAFETY: forwarded.
        return unsafe { lock_past_wrappers::<EVERY>(m, site, stack, thread, ident) };
    };
    // SAFETY: as above.
    unsafe { lock_in::<EVERY>(m, site, stack, thread, cell) }
}

/// As [`lock`], past wrappers.
#[inline(never)]
unsafe extern "C-unwind" fn lock_past_wrappers<const EVERY: bool>(
    m: Mutex,
    site: u64,
    stack: *const u64,
    thread: &mut MeterThread,
    ident: Ident,
) -> c_int {
    let what = ident.0 & WHAT.load(Relaxed);
    let known = |past| thread.known(key(what, 0, site::hash(past)));
    // SAFETY: the caller's promise.
    match unsafe { callsite::known_past(site, stack, known) } {
        // SAFETY: forwarded.
        Some((_, cell)) => unsafe { lock_in::<EVERY>(m, site, stack, thread, cell) },
        // SAFETY: forwarded.
        None => unsafe { lock_otherwise(m, site, stack) },
    }
}

/// Takes the mutex, as an acquisition of `cell`.
#[inline(always)]
unsafe fn lock_in<const EVERY: bool>(
    m: Mutex,
    site: u64,
    stack: *const u64,
    thread: &mut MeterThread,
    cell: CellRef,
) -> c_int {
    // SAFETY: the caller's mutex.
    if unsafe { may_recur(m, thread) } {
        // SAFETY: forwarded.
        return unsafe { lock_otherwise(m, site, stack) };
    }
    let since = hold::since_now::<EVERY>(thread);
    thread.acquired_uncounted(m as u64, cell, since);
    // SAFETY: forwarded.
    let result = unsafe { real::pthread_mutex_trylock(m) };
    if result == 0 {
        return 0;
    }
    // SAFETY: as above.
    unsafe { not_simply_had(m, site, result) }
}

/// The trylock on the fast path did not simply take the mutex.
#[cold]
#[inline(never)]
unsafe fn not_simply_had(m: Mutex, site: u64, result: c_int) -> c_int {
    // SAFETY: as in `lock`. Asked for once more, rather than kept over the call.
    let thread = unsafe { &mut *tls::raw() };
    // SAFETY: the entry that `lock` made; handlers of signals leave the entries as they find them.
    let hold = unsafe { thread.pop() };
    match result {
        // SAFETY: forwarded.
        EBUSY => unsafe { waited_for(m, site, Return::UNKNOWN, || real::pthread_mutex_lock(m)) },
        EOWNERDEAD => {
            thread.acquired_uncounted(m as u64, hold.cell, hold.since);
            result
        }
        _ => result,
    }
}

/// [`lock_slowly`] with the caller's frame pointer. It is jumped to, as the last thing that is done before, when
/// registers are again as the program called; where it was compiled to a call there is none.
#[unsafe(naked)]
unsafe extern "C-unwind" fn lock_otherwise(m: Mutex, site: u64, stack: *const u64) -> c_int {
    naked_asm!(
        "xor ecx, ecx",
        "cmp rdx, rsp",
        "cmove rcx, rbp",
        "jmp {slowly}",
        slowly = sym lock_slowly,
    )
}

/// As [`lock`], for any mutex.
pub unsafe extern "C-unwind" fn lock_slowly(m: Mutex, site: u64, back: Return) -> c_int {
    // SAFETY: forwarded.
    unsafe { acquire(m, site, back, || real::pthread_mutex_lock(m)) }
}

/// `pthread_mutex_timedlock`.
pub unsafe extern "C-unwind" fn timedlock(
    m: Mutex,
    timeout: *const timespec,
    site: u64,
    back: Return,
) -> c_int {
    // SAFETY: forwarded.
    unsafe { acquire(m, site, back, || real::pthread_mutex_timedlock(m, timeout)) }
}

/// `pthread_mutex_clocklock`.
pub unsafe extern "C-unwind" fn clocklock(
    m: Mutex,
    clock: clockid_t,
    timeout: *const timespec,
    site: u64,
    back: Return,
) -> c_int {
    // SAFETY: forwarded.
    let block = || unsafe { real::pthread_mutex_clocklock(m, clock, timeout) };
    if !deadline::is_clock(clock) {
        return block();
    }
    // SAFETY: the caller's mutex.
    unsafe { acquire(m, site, back, block) }
}

/// `pthread_mutex_trylock`.
pub unsafe extern "C-unwind" fn trylock(m: Mutex, site: u64, back: Return) -> c_int {
    // SAFETY: the caller's mutex.
    unsafe { attempt(m, site, back, true) }
}

/// Tries for the mutex, where that is the same as its first step, and waits by `block` if it is not to be had
/// at once.
unsafe fn acquire(m: Mutex, site: u64, back: Return, block: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the caller's mutex.
    match unsafe { if is_special(m) { EBUSY } else { attempt(m, site, back, false) } } {
        // SAFETY: as above.
        EBUSY => unsafe { waited_for(m, site, back, block) },
        result => result,
    }
}

/// Tries for the mutex. EBUSY is a reject, or leaves no trace.
#[inline(always)]
unsafe fn attempt(m: Mutex, site: u64, back: Return, rejects: bool) -> c_int {
    // SAFETY: forwarded.
    let try_lock = || unsafe { real::pthread_mutex_trylock(m) };
    let Some((thread, ident)) = subject(m) else { return try_lock() };
    let target = Target { addr: m as u64, ident, mode: 0, site, back };
    let Some(spot) = spot(thread, &target) else { return try_lock() };
    // SAFETY: the caller's mutex.
    let recurs = unsafe { may_recur(m, thread) };
    spot.cell.begin();
    if recurs {
        return had_perhaps_again(m, thread, spot, try_lock(), rejects);
    }
    hold::begin(thread, m as u64, spot, false);
    let result = try_lock();
    if result != 0 && result != EOWNERDEAD {
        hold::cancel(thread, result == EBUSY && rejects);
    }
    result
}

/// The mutex, which the thread may have held already, was tried for. Its entry is not made yet: what the thread
/// has held so far tells.
#[cold]
#[inline(never)]
fn had_perhaps_again(
    m: Mutex,
    thread: &mut MeterThread,
    spot: Spot,
    result: c_int,
    rejects: bool,
) -> c_int {
    match result {
        // Taking a mutex again that one holds is no acquisition.
        0 | EOWNERDEAD if thread.recurse(m as u64) => spot.cell.take_back(),
        0 | EOWNERDEAD => {
            hold::begin(thread, m as u64, spot, false);
        }
        EBUSY if rejects => spot.cell.reject(),
        _ => spot.cell.take_back(),
    }
    result
}

#[cold]
unsafe fn waited_for(m: Mutex, site: u64, back: Return, block: impl FnOnce() -> c_int) -> c_int {
    let Some((thread, ident)) = subject(m) else { return block() };
    let target = Target { addr: m as u64, ident, mode: 0, site, back };
    let Some(spot) = spot(thread, &target) else { return block() };
    // SAFETY: the caller's mutex.
    let (special, word) = unsafe { (is_special(m), word(m)) };
    if special && word & libc::FUTEX_TID_MASK == 0 {
        // SAFETY: the caller's mutex.
        let recurs = unsafe { may_recur(m, thread) };
        spot.cell.begin();
        if recurs {
            return had_perhaps_again(m, thread, spot, block(), false);
        }
        hold::begin(thread, m as u64, spot, false);
        let result = block();
        if result != 0 && result != EOWNERDEAD {
            hold::cancel(thread, false);
        }
        return result;
    }
    // `__owner` at offset 8.
    let owner = Owner::At(m.cast::<u32>().wrapping_add(2));
    wait::lock(thread, &target, spot, Contended { owner, spins: false, shared: false }, block)
}

/// `pthread_mutex_unlock`.
pub unsafe extern "C-unwind" fn unlock<const EVERY: bool>(m: Mutex, _site: u64) -> c_int {
    // SAFETY: forwarded.
    hold::release::<EVERY>(m as u64, || unsafe { real::pthread_mutex_unlock(m) })
}
