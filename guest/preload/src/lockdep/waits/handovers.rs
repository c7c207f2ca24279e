//! Barriers and semaphores: what they order, until it shows that they are no mere hand-over.

use core::ffi::{c_int, c_uint};

use lockwright_engines::lockdep::{Acquire, Core, Ident, Tell, ThreadState};
use lockwright_ledger::rows::{event, mode, sync_kind};

use crate::lock_id::side_table::SideTable;
use crate::lockdep::{attached_threads, watch};
use crate::os::tls;
use crate::recorder::state;

/// What the thread does next may be how others learn of what it made.
pub fn shares() {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    if let Some(thread) = unsafe { tls::get().as_mut() } {
        thread.shares();
    }
}

/// As [`shares`], by a post of a semaphore that is no lock.
pub fn shares_by_post() {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    if let Some(thread) = unsafe { tls::get().as_mut() } {
        thread.shares();
        thread.did(event::HAND_OVER);
    }
}

/// Objects that the engine still wants to hear of. With each, the thread whose posts it need not
/// hear of any more, and the one whose waits.
static LISTENED: SideTable = SideTable::new();

/// No thread.
const NOBODY: u32 = u32::MAX;

fn listen(kind: u32, addr: u64, size: u32) {
    state::with_core(|core| listen_in(core, kind, addr, size));
}

fn listen_in(core: &mut Core, kind: u32, addr: u64, size: u32) {
    core.sync_init(kind, addr, size);
    LISTENED.insert(addr, Ident::new(NOBODY, NOBODY));
}

fn stop_listening(addr: u64) {
    state::with_core(|_| LISTENED.remove(addr));
}

fn listened(addr: u64) -> Option<&'static mut ThreadState> {
    LISTENED.get(addr)?;
    watch::thread()
}

/// A barrier begins its life, which `count` threads pass at a time; of other processes, too, if it
/// `is_shared`.
pub fn barrier_begins(addr: u64, count: c_uint, is_shared: bool) {
    if state::status() == state::ACTIVE {
        listen(sync_kind::BARRIER, addr, count);
        if is_shared {
            state::with_core(|core| core.barrier_is_shared(addr));
        }
    }
}

/// The calling thread waits at a barrier by `arrive`, in a call that returns to `site`.
pub fn barrier_wait(addr: u64, site: u64, arrive: impl FnOnce() -> c_int) -> c_int {
    shares();
    let Some(thread) = listened(addr) else { return arrive() };
    let wait = Acquire { addr, ident: Ident::NONE, mode: mode::BARRIER, site };
    let (node, _) = watch::wait_context(thread, &wait);
    let Some(round) = state::with_core(|core| core.barrier_arrives(thread, addr)).flatten() else {
        stop_listening(addr);
        return arrive();
    };
    attached_threads::at_barrier(true);
    thread.wait_begin(&Acquire { ident: round.ident(), ..wait }, node);
    attached_threads::look_at_barriers();
    let result = arrive();
    // The barrier may be gone by now: only its address is used.
    thread.wait_end();
    attached_threads::at_barrier(false);
    state::with_core(|core| core.barrier_passed(thread, round));
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

/// A semaphore goes on as one that begins at 0. The caller has the core's lock.
pub fn semaphore_begins_in(core: &mut Core, addr: u64) {
    listen_in(core, sync_kind::SEMAPHORE, addr, 0);
}

/// The calling thread is about to post a semaphore that is no lock.
pub fn semaphore_posts(addr: u64) {
    // In a handler, the sender of the signal counts as the poster.
    let Some(known) = LISTENED.get(addr) else { return };
    let Some(thread) = watch::thread().filter(|thread| thread.id() != known.inst()) else { return };
    match state::with_core(|core| core.sem_posts(thread, addr)) {
        Some(Tell::Nothing) => stop_listening(addr),
        Some(Tell::OfOthers) => {
            listen_to_others(addr, |known| Ident::new(thread.id(), known.class()))
        }
        _ => {}
    }
}

/// The calling thread's wait for a semaphore that is no lock ended with `result`.
pub fn semaphore_waited(addr: u64, result: c_int) -> c_int {
    if result != 0 || tls::get().is_null() {
        return result;
    }
    let Some(known) = LISTENED.get(addr) else { return result };
    let Some(thread) = watch::thread().filter(|thread| thread.id() != known.class()) else {
        return result;
    };
    if let Some(Tell::OfOthers) = state::with_core(|core| core.sem_granted(thread, addr)) {
        listen_to_others(addr, |known| Ident::new(known.inst(), thread.id()));
    }
    result
}

/// Changes which threads need not be heard of.
fn listen_to_others(addr: u64, change: impl FnOnce(Ident) -> Ident) {
    state::with_core(|_| {
        if let Some(known) = LISTENED.get(addr) {
            LISTENED.insert(addr, change(known));
        }
    });
}
