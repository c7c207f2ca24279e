//! Sections of mutexes that may be monitors': which are reported to the engine.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use libc::pthread_mutex_t;
use lockwright_engines::lockdep::{Ident, Section, ThreadState, Watch};
use lockwright_ledger::rows::held_flag;

use crate::lock_id::{identity, side_table::SideTable, unstamped};
use crate::recorder::state;
use crate::stack::python;

/// Classes of mutexes whose sections need not be reported.
#[unsafe(link_section = "lockwright_forked")]
static OFF: SideTable = SideTable::new();
/// There are mutexes whose sections are reported.
#[unsafe(link_section = "lockwright_forked")]
static ARE_ANY: AtomicBool = AtomicBool::new(false);

// Accesses of `ARE_ANY` are Relaxed: what is known of a mutex is in its stamp, and in the engine, which has a lock.

/// A ledger begins.
pub fn begin() {
    OFF.clear();
    // A forked child leaves the page that it shares alone.
    if ARE_ANY.load(Relaxed) {
        ARE_ANY.store(false, Relaxed);
    }
}

fn key(class: u32) -> u64 {
    u64::from(class) << 3 | 1 << 40
}

/// The thread is about to signal a condition variable.
#[inline]
pub fn signals(thread: &mut ThreadState) {
    if thread.is_in_no_monitor() || thread.in_signal() != 0 {
        return;
    }
    looks(thread);
}

#[cold]
#[inline(never)]
fn looks(thread: &mut ThreadState) {
    const NONE: u16 = held_flag::IN_COND_WAIT | held_flag::SEMAPHORE;
    let innermost = thread.held().next_back().filter(|it| it.is_held() && it.flags & NONE == 0);
    let Some(held) = innermost else { return };
    // Other libraries' mutexes have no stamp.
    if OFF.get(key(held.class)).is_some() || unstamped::find(held.addr).is_some() {
        return thread.signals_no_monitor(held.class);
    }
    let watch = state::with_core(|core| core.monitor_signals(thread, held.addr));
    let ident = Ident::new(held.inst, held.class);
    match watch {
        // SAFETY: the engine says that the lock is a mutex. The thread holds it, and it is known by its stamp.
        Some(Watch::Begins) => unsafe { begins(held.addr as *const pthread_mutex_t, ident) },
        Some(Watch::Ends) => ends(ident.class()),
        Some(Watch::Goes) | None => {}
    }
}

/// The sections of a mutex that the thread holds are reported from now on.
///
/// # Safety
/// `m` points to a mutex with room for a stamp.
unsafe fn begins(m: *const pthread_mutex_t, ident: Ident) {
    ARE_ANY.store(true, Relaxed);
    // SAFETY: the caller promises such a mutex.
    unsafe { identity::for_slow_path(m, ident, true) };
}

/// Those of mutexes of the class need not be. Each takes the fast path again after its next section.
fn ends(class: u32) {
    state::with_core(|_| OFF.insert(key(class), Ident(1)));
}

/// The thread has taken the mutex `m`, which is `ident`.
///
/// # Safety
/// `m` points to the caller's mutex.
#[inline(always)]
pub unsafe fn entered(m: *const pthread_mutex_t, thread: &mut ThreadState) {
    // SAFETY: the caller promises its mutex.
    if unsafe { is_reported(m) } {
        // SAFETY: the same.
        unsafe { enters(m, thread) };
    }
}

/// # Safety
/// As for [`entered`].
#[cold]
#[inline(never)]
unsafe fn enters(m: *const pthread_mutex_t, thread: &mut ThreadState) {
    if thread.in_signal() != 0 {
        return;
    }
    // SAFETY: the caller promises its mutex.
    let Some(ident) = (unsafe { identity::stamped(m) }) else { return };
    let addr = m as u64;
    let watch = state::with_core(|core| core.monitor_enters(thread, addr, &mut python::capture));
    if let Some(Watch::Ends) = watch {
        // SAFETY: the caller promises its mutex, which has a stamp.
        unsafe { identity::for_slow_path(m, ident, false) };
        ends(ident.class());
    }
}

/// Sections of the mutex are reported. Most waits are with others, and need not ask the engine.
///
/// # Safety
/// `m` points to the caller's mutex.
#[inline(always)]
unsafe fn is_reported(m: *const pthread_mutex_t) -> bool {
    // SAFETY: the caller promises its mutex.
    ARE_ANY.load(Relaxed) && unsafe { identity::is_for_slow_path(m) }
}

/// The thread is about to wait on a condition variable with the mutex `m`. For [`woken`] and [`blocks`].
///
/// # Safety
/// `m` points to the caller's mutex.
pub unsafe fn waits(
    thread: &mut ThreadState,
    m: *const pthread_mutex_t,
    is_timed: bool,
) -> Option<u32> {
    // SAFETY: the caller promises its mutex.
    if !unsafe { is_reported(m) } {
        return None;
    }
    state::with_core(|core| core.monitor_waits(thread, m as u64, is_timed)).flatten()
}

/// It has given the mutex up and keeps other locks.
pub fn blocks(thread: &mut ThreadState, m: u64, mutex: Ident, section: Option<u32>) {
    if let Some(stack) = section {
        state::with_core(|core| core.monitor_blocks(thread, m, mutex, stack));
    }
}

/// The wait is over, which has returned `result`.
///
/// # Safety
/// `m` points to the caller's mutex.
pub unsafe fn woken(
    thread: &mut ThreadState,
    m: *const pthread_mutex_t,
    is_timed: bool,
    result: i32,
    section: Option<u32>,
) {
    // The mutex may have become a candidate meanwhile.
    // SAFETY: the caller promises its mutex.
    if section.is_none() && !unsafe { is_reported(m) } {
        return;
    }
    let (how, stack) = ((is_timed, result != 0), section.unwrap_or(0));
    state::with_core(|core| {
        core.monitor_woken(thread, m as u64, how, stack, &mut python::capture);
    });
}

/// The thread has released the mutex at `m` at the end of that section.
#[cold]
pub fn left(thread: &mut ThreadState, m: u64, mutex: Ident, section: Section) {
    state::with_core(|core| core.monitor_section_ends(thread, m, mutex, section));
}
