//! Mutexes.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use libc::{EBUSY, EOWNERDEAD, pthread_mutex_t};
use lockwright_engines::lockdep::Ident;
use lockwright_engines::lockmeter::{CellRef, MeterThread, key};
use lockwright_ledger::site;

use super::acquire::{self, Counted};
use super::meter::WHAT;
use super::{hold, tls};
use crate::callsite::{self, Return};
use crate::libc::real;
use crate::lock_id::identity;

type Mutex = *mut pthread_mutex_t;

/// `pthread_mutex_lock`. `stack` is where the call has put `site`, its return address. `EVERY` is
/// as for [`hold::since_now`].
///
/// # Safety
/// The arguments keep the contract of `pthread_mutex_lock`; `stack` is where the call has put
/// `site`.
pub unsafe extern "C-unwind" fn lock<const EVERY: bool>(
    m: Mutex,
    site: u64,
    stack: *const u64,
) -> c_int {
    // SAFETY: `m` is the program's mutex, whose stamp is read.
    let ident = unsafe { identity::stamped_plain(m) };
    // The fast path: an ordinary mutex at a call site that this thread knows.
    let Some(ident) = ident else {
        // SAFETY: the program's own `m` goes on unchanged, and `stack` is where its call put
        // `site`.
        return unsafe { lock_slow_with_frame(m, site, stack) };
    };
    let meter = tls::raw();
    // SAFETY: this thread's own meter, or the detached one, which all threads only read.
    let known = unsafe { (*meter.cast_const()).known(key(ident.0 & WHAT.load(Relaxed), 0, site)) };
    let Some(cell) = known else {
        // SAFETY: the program's own `m` goes on unchanged, and `ident` is the one stamped into it.
        return unsafe { lock_past_wrappers::<EVERY>(m, site, stack, ident) };
    };
    // SAFETY: the program's own `m` goes on unchanged. The detached meter knows no cell, so the meter
    // is this thread's own, and `cell` is one of it.
    unsafe { lock_in::<EVERY>(m, site, stack, meter, cell) }
}

/// As [`lock`], past wrappers.
///
/// # Safety
/// As for [`lock`]; `ident` is stamped into the mutex.
#[inline(never)]
unsafe extern "C-unwind" fn lock_past_wrappers<const EVERY: bool>(
    m: Mutex,
    site: u64,
    stack: *const u64,
    ident: Ident,
) -> c_int {
    let what = ident.0 & WHAT.load(Relaxed);
    let known = |meter: &MeterThread| {
        let known = |past| meter.known(key(what, 0, site::hash(past)));
        // SAFETY: the caller promises that `stack` is where the call put `site`, and it has not
        // returned.
        unsafe { callsite::known_past(site, stack, known) }
    };
    match tls::own_with(known) {
        // SAFETY: the caller's `m` goes on unchanged, and `cell` is one of `thread`.
        Some((thread, (_, cell))) => unsafe { lock_in::<EVERY>(m, site, stack, thread, cell) },
        // SAFETY: the caller's `m` goes on unchanged, and `stack` is where the call put `site`.
        None => unsafe { lock_slow_with_frame(m, site, stack) },
    }
}

/// Takes the mutex, as an acquisition of `cell`.
///
/// # Safety
/// As for [`lock`]; `cell` is one of `thread`, the calling thread's meter.
#[inline(always)]
unsafe fn lock_in<const EVERY: bool>(
    m: Mutex,
    site: u64,
    stack: *const u64,
    thread: *mut MeterThread,
    cell: CellRef,
) -> c_int {
    // SAFETY: the caller promises the thread's own meter. This reference is not used after the slow
    // path has made its own.
    let thread = unsafe { &mut *thread };
    // SAFETY: the caller promises its mutex, whose kind is read.
    if unsafe { acquire::may_recur(m, thread) } {
        // SAFETY: the caller's `m` goes on unchanged, and `stack` is where the call put `site`.
        return unsafe { lock_slow_with_frame(m, site, stack) };
    }
    let since = hold::since_now::<EVERY>(thread);
    thread.acquired_uncounted(m as u64, cell, since);
    // SAFETY: the program asked to lock its own `m`, and a trylock needs of it no more than that.
    let result = unsafe { real::pthread_mutex_trylock(m) };
    if result == 0 {
        return 0;
    }
    // SAFETY: `m` is the caller's mutex, whose entry was made above and whose trylock answered
    // `result`.
    unsafe { lock_in_slow(m, site, result) }
}

/// The slow path of [`lock_in`]: its trylock did not simply take the mutex.
///
/// # Safety
/// `m` is the caller's mutex, whose entry `lock` has made; `result` is its trylock's answer.
#[cold]
#[inline(never)]
unsafe fn lock_in_slow(m: Mutex, site: u64, result: c_int) -> c_int {
    // SAFETY: `lock` found this thread's own meter. Asked for once more, rather than kept over the
    // call.
    let thread = unsafe { &mut *tls::raw() };
    // SAFETY: the entry that `lock` made; handlers of signals leave the entries as they find them.
    let hold = unsafe { thread.pop() };
    match result {
        // SAFETY: the program asked to lock its own `m`, and `pthread_mutex_lock` gets it
        // unchanged.
        EBUSY => unsafe {
            acquire::waited_for(m, 0, site, Return::UNKNOWN, |m| real::pthread_mutex_lock(m))
        },
        EOWNERDEAD => {
            thread.acquired_uncounted(m as u64, hold.cell, hold.since);
            result
        }
        _ => result,
    }
}

/// [`lock_slow`] with the caller's frame pointer. It is jumped to, as the last thing that is done
/// before, when registers are again as the program called; where it was compiled to a call there is
/// none.
///
/// # Safety
/// As for [`lock`]; jumped to, registers are as the program called.
#[unsafe(naked)]
unsafe extern "C-unwind" fn lock_slow_with_frame(m: Mutex, site: u64, stack: *const u64) -> c_int {
    code!(with_frame, slow = sym lock_slow)
}

/// The slow path of [`lock`], for any mutex.
///
/// # Safety
/// The arguments keep the contract of `pthread_mutex_lock`; the stub passes `site` and `back`.
unsafe extern "C-unwind" fn lock_slow(m: Mutex, site: u64, back: Return) -> c_int {
    // SAFETY: the caller promises its mutex, and the stub's `site` and `back`; `pthread_mutex_lock`
    // gets `m` unchanged.
    unsafe { acquire::acquire(m, 0, site, back, |m| real::pthread_mutex_lock(m)) }
}

impl Counted for pthread_mutex_t {}

/// `pthread_mutex_unlock`. `IN_TIME`: with a timeline, if every hold is timed.
///
/// # Safety
/// The arguments keep the contract of `pthread_mutex_unlock`.
pub unsafe extern "C-unwind" fn unlock<const EVERY: bool, const IN_TIME: bool>(
    m: Mutex,
    _site: u64,
) -> c_int {
    // SAFETY: the next `pthread_mutex_unlock` gets the program's own `m` unchanged, as without us.
    hold::release::<EVERY, IN_TIME>(m as u64, || unsafe { real::pthread_mutex_unlock(m) })
}
