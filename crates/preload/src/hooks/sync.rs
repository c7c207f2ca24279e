//! Barriers and semaphores: what they order, until it shows that they are no mere hand-over.

use core::ffi::{c_int, c_uint};

use libc::{clockid_t, pthread_barrier_t, pthread_barrierattr_t, sem_t, timespec};
use lockwright_engines::lockdep::{Ident, ThreadState};
use lockwright_ledger::rows::sync_kind;

use super::watch;
use crate::side_table::SideTable;
use crate::{real, state, tls};

type Barrier = *mut pthread_barrier_t;
type Semaphore = *mut sem_t;

/// What the thread does next may be how others learn of what it made.
fn shares() {
    // SAFETY: as `watch::thread`.
    if let Some(thread) = unsafe { tls::get().as_mut() } {
        thread.shares();
    }
}

/// Objects that the engine still wants to hear of.
static LISTENED: SideTable = SideTable::new();

fn listen(kind: u32, addr: u64, size: u32) {
    state::with_core(|core| {
        core.sync_init(kind, addr, size);
        LISTENED.insert(addr, Ident::new(1, kind));
    });
}

fn stop_listening(addr: u64) {
    state::with_core(|_| LISTENED.remove(addr));
}

fn listened(addr: u64) -> Option<&'static mut ThreadState> {
    LISTENED.get(addr)?;
    watch::thread()
}

pub unsafe extern "C-unwind" fn barrier_init(
    b: Barrier,
    attr: *const pthread_barrierattr_t,
    count: c_uint,
    _site: u64,
) -> c_int {
    // SAFETY: forwarded.
    let result = unsafe { real::pthread_barrier_init(b, attr, count) };
    if result == 0 && state::status() == state::ACTIVE {
        listen(sync_kind::BARRIER, b as u64, count);
    }
    result
}

pub unsafe extern "C-unwind" fn barrier_wait(b: Barrier, _site: u64) -> c_int {
    shares();
    let Some(thread) = listened(b as u64) else {
        // SAFETY: forwarded.
        return unsafe { real::pthread_barrier_wait(b) };
    };
    let round = state::with_core(|core| core.barrier_arrives(thread, b as u64)).flatten();
    // SAFETY: forwarded.
    let result = unsafe { real::pthread_barrier_wait(b) };
    // The barrier may be gone by now: only its address is used.
    match round {
        Some(round) => {
            state::with_core(|core| core.barrier_passed(thread, round));
        }
        None => stop_listening(b as u64),
    }
    result
}

pub unsafe extern "C-unwind" fn sem_init(
    s: Semaphore,
    shared: c_int,
    value: c_uint,
    _site: u64,
) -> c_int {
    // SAFETY: forwarded.
    let result = unsafe { real::sem_init(s, shared, value) };
    if result == 0 && state::status() == state::ACTIVE {
        match (shared, value) {
            // Posts of other processes would not be seen; a value to begin with orders nothing.
            (0, 0) => listen(sync_kind::SEMAPHORE, s as u64, 0),
            _ if LISTENED.get(s as u64).is_some() => stop_listening(s as u64),
            _ => {}
        }
    }
    result
}

pub unsafe extern "C-unwind" fn sem_post(s: Semaphore, _site: u64) -> c_int {
    shares();
    // In a handler, a post is by whoever sent the signal.
    if let Some(thread) = listened(s as u64) {
        let goes_on = state::with_core(|core| core.sem_posts(thread, s as u64));
        if goes_on == Some(false) {
            stop_listening(s as u64);
        }
    }
    // SAFETY: forwarded.
    unsafe { real::sem_post(s) }
}

fn granted(s: Semaphore, result: c_int) -> c_int {
    if result == 0
        && !tls::get().is_null()
        && let Some(thread) = listened(s as u64)
    {
        state::with_core(|core| core.sem_granted(thread, s as u64));
    }
    result
}

pub unsafe extern "C-unwind" fn sem_wait(s: Semaphore, _site: u64) -> c_int {
    // SAFETY: forwarded.
    granted(s, unsafe { real::sem_wait(s) })
}

pub unsafe extern "C-unwind" fn sem_trywait(s: Semaphore, _site: u64) -> c_int {
    // SAFETY: forwarded.
    granted(s, unsafe { real::sem_trywait(s) })
}

pub unsafe extern "C-unwind" fn sem_timedwait(
    s: Semaphore,
    t: *const timespec,
    _site: u64,
) -> c_int {
    // SAFETY: forwarded.
    granted(s, unsafe { real::sem_timedwait(s, t) })
}

pub unsafe extern "C-unwind" fn sem_clockwait(
    s: Semaphore,
    clock: clockid_t,
    t: *const timespec,
    _site: u64,
) -> c_int {
    // SAFETY: forwarded.
    granted(s, unsafe { real::sem_clockwait(s, clock, t) })
}
