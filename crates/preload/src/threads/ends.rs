//! Threads that have ended without notice: where the program has all keys ([`super::keys`]), no destructor
//! tells of their ends. They are looked for when it matters: when a thread begins, is joined or is
//! about to wait for a lock, and at the end of the process. Until then they are as threads that
//! run.

use core::sync::atomic::{AtomicBool, Ordering::*};

use lockwright_engines::lockdep::{Core, ThreadState};
use lockwright_ledger::rows::Thread;

use crate::os::upcall::Upcall;
use crate::os::{sys, time, tls};
use crate::recorder::state;

/// Ends what it has of threads, if what it is given says of them that they have ended: by kernel
/// thread id, and whether it is the calling one.
pub type EndThose = fn(&dyn Fn(u32, bool) -> bool);

/// lockmeter's part: ends meters.
pub static END_METERS: Upcall<EndThose> = Upcall::none();

/// Ends are not heard of any more.
static ARE_UNHEARD: AtomicBool = AtomicBool::new(false);

/// From now on ends are not heard of.
pub fn end_unnoticed() {
    ARE_UNHEARD.store(true, Relaxed);
}

/// Looks for threads that have ended, if their ends are not heard of.
#[inline]
pub fn look() {
    if ARE_UNHEARD.load(Relaxed) {
        look_for_all();
    }
}

/// The thread of row `id` has been joined, so it has ended.
pub fn joined(id: u32) {
    if ARE_UNHEARD.load(Relaxed) {
        let now = time::now_ns();
        state::with_core(|core| end(core, id, now));
        // It has a meter, too.
        look_for_all();
    }
}

/// Ends are heard of.
pub fn are_heard() -> bool {
    !ARE_UNHEARD.load(Relaxed)
}

/// Somebody looks.
static LOOKS: AtomicBool = AtomicBool::new(false);

#[cold]
fn look_for_all() {
    // One at a time, so that nobody is ended twice. Who comes while another looks goes without.
    // Acquire pairs with the Release below.
    if LOOKS.swap(true, Acquire) {
        return;
    }
    let own = sys::gettid();
    // A thread that has another's kernel thread id is none of the process's any more.
    let has_ended = |tid: u32, is_own: bool| !is_own && (tid == own || !sys::thread_lives(tid));
    let (own_state, now) = (tls::get(), time::now_ns());
    state::with_core(|core| {
        // SAFETY: null, or the calling thread's state.
        let own_id = unsafe { own_state.as_ref() }.map_or(0, |thread| thread.id());
        let mut next = core.first_live();
        while let Some((id, tid, after)) = core.live_thread(next) {
            next = after;
            if has_ended(tid, id == own_id) {
                end(core, id, now);
            }
        }
    });
    if let Some(end_meters) = END_METERS.get() {
        end_meters(&has_ended);
    }
    LOOKS.store(false, Release);
}

/// Puts the end of the thread of row `id` on record, with what it still held. Where it was then is
/// not known.
fn end(core: &mut Core, id: u32, now: u64) {
    let row = core.ledger().row_ptr::<Thread>(id).cast::<ThreadState>();
    // SAFETY: null, or a row, which stays mapped.
    if row.is_null() || unsafe { ThreadState::is_waiting(row) }.is_none() {
        return;
    }
    // SAFETY: it came from `thread_start`, and its thread is gone: nobody else has it.
    unsafe {
        core.exits(&mut *row, now, |_| false, &mut |_| 0);
        core.thread_exit(row, now);
    }
}
