//! Barriers and semaphores: what they order, until it shows that they are no mere hand-over.

use core::ffi::{c_int, c_uint};

use libc::{pthread_barrier_t, pthread_barrierattr_t};
use lockwright_engines::lockdep::{Ident, ThreadState};
use lockwright_ledger::rows::sync_kind;

use super::watch;
use crate::side_table::SideTable;
use crate::{real, state, tls};

type Barrier = *mut pthread_barrier_t;

/// What the thread does next may be how others learn of what it made.
pub fn shares() {
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

/// A semaphore begins its life with `value`, or goes on as one that orders nothing.
pub fn semaphore_begins(addr: u64, value: Option<c_uint>) {
    match value {
        // A value to begin with orders nothing.
        Some(0) => listen(sync_kind::SEMAPHORE, addr, 0),
        _ if LISTENED.get(addr).is_some() => stop_listening(addr),
        _ => {}
    }
}

/// The calling thread is about to post a semaphore that is no lock.
pub fn semaphore_posts(addr: u64) {
    // In a handler, a post is by whoever sent the signal.
    if let Some(thread) = listened(addr) {
        let goes_on = state::with_core(|core| core.sem_posts(thread, addr));
        if goes_on == Some(false) {
            stop_listening(addr);
        }
    }
}

/// The calling thread's wait for a semaphore that is no lock ended with `result`.
pub fn semaphore_waited(addr: u64, result: c_int) -> c_int {
    if result == 0
        && !tls::get().is_null()
        && let Some(thread) = listened(addr)
    {
        state::with_core(|core| core.sem_granted(thread, addr));
    }
    result
}
