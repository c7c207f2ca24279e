//! The threads that lockdep watches: from their attaching to their end.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

use lockwright_engines::lockdep::{Core, ThreadRow, ThreadState};

use crate::hosts::HasEnded;
use crate::lock_id::new_stack;
use crate::lockdep::{is_wanted, misuse, open_signals};
use crate::os::{sys, time, timers, tls};
use crate::recorder::state;
use crate::threads::by_tid::ByTid;
use crate::threads::{lifetime, names, unnoticed_ends};

/// Ledger rows of threads.
static ROWS: ByTid<ThreadState> = ByTid::new();

/// The calling thread's state; attaches the thread if this is the first we hear of it.
#[inline(always)]
pub fn thread() -> Option<&'static mut ThreadState> {
    let state = tls::get();
    // SAFETY: set by `attach`, valid until the thread's exit, which clears it; one thread, one
    // reference at a time (a signal handler's ends before ours goes on).
    match unsafe { state.as_mut() } {
        Some(thread) => Some(thread),
        None => attach(),
    }
}

/// The calling thread's state, if it is attached. A function that has called
/// [`crate::lock_id::identity::identify`] gets its reference here once more: that call uses the state
/// by a reference of its own.
#[inline(always)]
pub fn own() -> Option<&'static mut ThreadState> {
    // SAFETY: null, or the thread's own state, which is valid until the thread exits. Callers use no
    // older reference to it once they have this one.
    unsafe { tls::get().as_mut() }
}

/// Begins to watch the calling thread. `None` where nothing is watched.
#[cold]
pub fn attach() -> Option<&'static mut ThreadState> {
    attach_created(0, 0, |_, _| {})
}

/// As [`attach`], of a thread that was created in `parent_segment` at `create_stack`. `known` is called with its row, unless
/// it is attached already.
#[cold]
pub fn attach_created(
    parent_segment: u32,
    create_stack: u32,
    known: impl FnOnce(&mut Core, u32),
) -> Option<&'static mut ThreadState> {
    if tls::is_closed() {
        return None;
    }
    if !is_wanted() {
        // Nothing of this thread is for lockdep.
        tls::set_closed(true);
        return None;
    }
    if !lifetime::may_begin() {
        return None;
    }
    // A forked child that has just begun has attached it, with what the forking thread held.
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    if let Some(thread) = unsafe { tls::get().as_mut() } {
        return Some(thread);
    }
    new_stack::begins();
    let (tid, now) = (sys::gettid(), time::now_ns());
    let attach = |core: &mut Core| {
        let state = core.thread_start(tid, now, parent_segment, create_stack)?;
        // SAFETY: `thread_start` has just made this state, and the core's lock is held.
        let id = unsafe { (*state).id() };
        known(core, id);
        // Its creator may have named it before it could be found.
        core.thread_name(id, &sys::thread_name());
        Some(state)
    };
    let Some(state) = state::with_core_as(|| tid, attach)? else {
        tls::set_closed(true);
        return None;
    };
    tls::set(state);
    ROWS.set(tid, state);
    // SAFETY: the state was just set as this thread's own, and it is valid until the thread exits.
    let thread = unsafe { &mut *state };
    open_signals::inherit_mask(thread);
    lifetime::hear_of_end();
    Some(thread)
}

/// The thread with this id is known to us and is not waiting for a lock.
pub fn is_running(tid: u32) -> bool {
    let row = ROWS.get(tid);
    if row.is_null() {
        return false;
    }
    // SAFETY: `ROWS` has only rows of the ledger, which stay mapped; the row is read by atomics.
    let row = unsafe { ThreadRow::new(row.cast()) };
    row.kernel_id() == tid && row.is_waiting() == Some(false)
}

/// Records until when a timer may still end a deadlock: there is one.
#[cold]
pub fn note_timers() {
    if let Some(header) = state::header() {
        header.timers_until_ns.store(timers::armed_until(time::now_ns()), Relaxed);
    }
}

/// Threads that wait at barriers.
#[unsafe(link_section = "lockwright_forked")]
static AT_BARRIERS: AtomicU32 = AtomicU32::new(0);

/// A thread waits at a barrier, or does no more.
pub fn at_barrier(waits: bool) {
    // Relaxed: the waiter publishes that afterwards (the fence in `wait_begin`), and so does the
    // thread that asks.
    match waits {
        true => AT_BARRIERS.fetch_add(1, Relaxed),
        false => AT_BARRIERS.fetch_sub(1, Relaxed),
    };
}

/// In a forked child, whose only thread waits at none.
pub fn forked() {
    AT_BARRIERS.store(0, Relaxed);
}

/// Some thread waits at a barrier.
pub fn are_any_at_barriers() -> bool {
    AT_BARRIERS.load(Relaxed) != 0
}

/// Checks whether the threads at barriers wait for good.
#[cold]
pub fn look_at_barriers() -> bool {
    finds_deadlock(Core::find_barrier_deadlock)
}

/// Looks for a deadlock, and records what a report on it needs.
pub fn finds_deadlock(find: impl FnOnce(&mut Core, u64) -> bool) -> bool {
    let now = time::now_ns();
    let is_found = state::with_core(|core| {
        let is_found = find(core, now);
        if is_found {
            names::refresh(core);
            note_timers();
        }
        is_found
    });
    is_found == Some(true)
}

/// The calling thread ends.
pub fn ended() {
    let state = tls::get();
    // SAFETY: the calling thread's own state, or null.
    if let Some(thread) = unsafe { state.as_mut() } {
        misuse::exits(thread);
    }
    let (name, now) = (sys::thread_name(), time::now_ns());
    tls::detach();
    tls::set_closed(true);
    if state.is_null() {
        return;
    }
    state::with_core(|core| {
        // SAFETY: the calling thread's own state, not used after this.
        unsafe {
            core.thread_name((*state).id(), &name);
            core.thread_exit(state, now);
        }
    });
    if are_any_at_barriers() {
        look_at_barriers();
    }
}

/// Ends the threads of which `has_ended` says so.
pub fn end_those(has_ended: HasEnded<'_>) {
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
}

/// The thread of row `id` has been joined, so it has ended.
pub fn joined(id: u32) {
    if !unnoticed_ends::are_heard() {
        let now = time::now_ns();
        state::with_core(|core| end(core, id, now));
        // The other engines have something of it, too.
        unnoticed_ends::look();
    }
}

/// Records the end of the thread of row `id`, with the locks that it still held. Where it was then
/// is not known.
fn end(core: &mut Core, id: u32, now: u64) {
    let Some(row) = core.thread(id).filter(ThreadRow::is_live) else { return };
    let row = row.as_state();
    // SAFETY: it came from `thread_start`, and its thread is gone: nobody else has it.
    unsafe {
        core.exits(&mut *row, now, |_| false, &mut |_| 0);
        core.thread_exit(row, now);
    }
}
