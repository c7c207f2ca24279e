//! What every wrapper is made of: the thread's state, an acquisition in its steps, a release.

use core::ffi::c_int;
use core::sync::atomic::{AtomicPtr, Ordering::*};

use libc::{EBUSY, EOWNERDEAD};
use lockwright_engines::lockdep::{Acquire as Acquisition, Ident, Probe, ThreadState};
use lockwright_ledger::rows::{Held, Thread};

use crate::identity::{self, Birth, Identify};
use crate::{init, modules, state, sys, tls, unwind};

/// The calling thread's state; attaches the thread if this is the first we hear of it.
#[inline(always)]
pub fn thread() -> Option<&'static mut ThreadState> {
    let state = tls::get();
    // SAFETY: set by `attach`, valid until the thread's exit, which clears it; one thread, one
    // reference at a time (a signal handler's ends before ours goes on).
    match unsafe { state.as_mut() } {
        Some(thread) => Some(thread),
        None => attach(0, 0),
    }
}

/// Begins to watch the calling thread. `None` where nothing is watched.
#[cold]
pub fn attach(parent_segment: u32, create_stack: u32) -> Option<&'static mut ThreadState> {
    if tls::is_closed() {
        return None;
    }
    match state::status() {
        state::ACTIVE => {}
        state::FORKED => init::child(),
        _ => return None,
    }
    let (tid, now) = (sys::gettid(), sys::now_ns(libc::CLOCK_MONOTONIC));
    let name = sys::thread_name();
    let state = state::with_core(|core| {
        let state = core.thread_start(tid, now, parent_segment, create_stack)?;
        // SAFETY: fresh.
        core.thread_name(unsafe { (*state).id }, &name);
        Some(state)
    })?;
    let Some(state) = state else {
        tls::set_closed(true);
        return None;
    };
    tls::set(state);
    // SAFETY: as in `thread`.
    let thread = unsafe { &mut *state };
    ROWS[tid as usize % ROWS.len()].store(thread.row_ptr(), Release);
    init::watch_exit(state);
    Some(thread)
}

/// Ledger rows of threads by kernel thread id, a hint that is checked.
static ROWS: [AtomicPtr<Thread>; 4096] = [const { AtomicPtr::new(core::ptr::null_mut()) }; 4096];

/// The thread with this id is known to us and is not waiting for a lock.
fn is_running(tid: u32) -> bool {
    // Acquire pairs with the Release in `attach`.
    let row = ROWS[tid as usize % ROWS.len()].load(Acquire);
    // SAFETY: rows stay mapped; the fields are words that their thread changes one by one.
    !row.is_null() && unsafe { (*row).tid == tid && ThreadState::is_waiting(row) == Some(false) }
}

/// The thread and the lock, if both are watched.
#[inline(always)]
pub fn subject<T: Identify>(lock: *const T) -> Option<(&'static mut ThreadState, Ident)> {
    let state = tls::get();
    // SAFETY: wrappers are given valid locks; what `thread` says about the state.
    match unsafe { (state.as_mut(), identity::stamped(lock)) } {
        (Some(thread), Some(ident)) => Some((thread, ident)),
        _ => unknown(lock),
    }
}

#[cold]
fn unknown<T: Identify>(lock: *const T) -> Option<(&'static mut ThreadState, Ident)> {
    let thread = thread()?;
    // SAFETY: as in `subject`.
    let ident = unsafe {
        identity::stamped(lock).or_else(|| identity::identify(lock, Birth::FirstAcquire))
    }?;
    Some((thread, ident))
}

/// Looks the acquisition up and, if it is new, puts it on record: before it may block.
#[inline(always)]
pub fn before(thread: &mut ThreadState, lock: &Acquisition) -> Probe {
    let probe = thread.probe(lock);
    if probe.is_hit() { probe } else { enter(thread, lock, probe) }
}

#[cold]
fn enter(thread: &mut ThreadState, lock: &Acquisition, probe: Probe) -> Probe {
    state::with_core(|core| {
        if modules::find(lock.site).is_none() {
            modules::cover(core, &[lock.site]);
        }
        core.enter(thread, lock, probe, &mut unwind::capture)
    })
    .unwrap_or(probe)
}

/// The lock is held now.
#[inline(always)]
pub fn after(thread: &mut ThreadState, lock: &Acquisition, probe: Probe) {
    if !thread.push(lock, probe) {
        after_growth(thread, lock);
    }
}

#[cold]
fn after_growth(thread: &mut ThreadState, lock: &Acquisition) {
    if state::with_core(|core| core.grow_held(thread)) == Some(true) {
        // What was closed up may have changed the keys.
        let probe = before(thread, lock);
        let _ = thread.push(lock, probe);
    }
}

/// In a forked child: the thread holds what the forking thread held.
pub fn inherit(thread: &mut ThreadState, held: &Held) {
    let ident = match held.class {
        0 => return,
        class => state::with_core(|core| core.inherited_lock(class)),
    };
    if let Some(Some(ident)) = ident {
        let lock = Acquisition { addr: held.addr, ident, mode: held.mode, site: held.site };
        let probe = before(thread, &lock);
        after(thread, &lock, probe);
    }
}

/// A lock's blocking acquisition, tried first: so a wait is known before it begins, and what cannot
/// block pays nothing for it.
#[inline(always)]
pub fn acquire(
    thread: &mut ThreadState,
    lock: &Acquisition,
    blocking: impl FnOnce() -> Blocking,
    try_lock: impl FnOnce() -> c_int,
    block: impl FnOnce() -> c_int,
) -> c_int {
    let probe = before(thread, lock);
    let mut result = try_lock();
    if result == EBUSY {
        result = wait(thread, lock, probe.node(), blocking(), block);
    }
    if result == 0 || result == EOWNERDEAD {
        after(thread, lock, probe);
    }
    result
}

/// What to know about a lock before one waits for it.
#[derive(Clone, Copy)]
pub struct Blocking {
    /// The lock itself notices that its owner locks it again.
    pub relock_fails: bool,
    /// Kernel thread id that the lock's memory names as its owner, 0 if it does not tell.
    pub owner: u32,
}

/// Waits, visibly to the owner walks of others, after having walked the owners itself.
#[cold]
#[inline(never)]
pub fn wait(
    thread: &mut ThreadState,
    lock: &Acquisition,
    node: u32,
    kind: Blocking,
    block: impl FnOnce() -> c_int,
) -> c_int {
    thread.wait_begin(lock, node);
    // A thread that holds nothing is nobody's obstacle. An owner that runs is none of ours either:
    // should it block later, it walks itself, and sees our wait (fence in `wait_begin`).
    if thread.depth() != 0 && !(kind.owner != 0 && is_running(kind.owner)) {
        walk(thread, kind.relock_fails);
    }
    let result = block();
    thread.wait_end();
    result
}

#[cold]
fn walk(thread: &mut ThreadState, relock_fails: bool) {
    let now = sys::now_ns(libc::CLOCK_MONOTONIC);
    state::with_core(|core| {
        if core.find_deadlock(thread, relock_fails, now) {
            init::refresh_names(core);
        }
    });
}

/// The lock at `address` has been unlocked. It may be gone by now: only its address is used.
#[inline(always)]
pub fn released(address: u64) {
    let state = tls::get();
    // SAFETY: as in `thread`.
    if let Some(thread) = unsafe { state.as_mut() }
        && !thread.release_innermost(address)
    {
        released_deeper(thread, address);
    }
}

#[cold]
fn released_deeper(thread: &mut ThreadState, address: u64) {
    if !thread.release(address) {
        state::with_core(|core| core.released_by_other(address));
    }
}
