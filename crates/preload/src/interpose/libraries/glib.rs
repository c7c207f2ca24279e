//! GLib's GMutex, GCond and g_once_init_enter, which are a futex each.

use core::ffi::{c_int, c_void};

use lockwright_ledger::rows::mode;

use super::steps::{self, Call};
use super::table::next;
use crate::callsite::Return;
use crate::os::tls;

pub type Mutex = *mut c_void;
pub type RwLock = *mut c_void;
pub type Cond = *mut c_void;
/// What is initialised once.
pub type Gate = *mut c_void;

/// `g_mutex_init`.
pub unsafe extern "C-unwind" fn init(m: Mutex, site: u64) {
    // SAFETY: forwarded.
    unsafe { next::g_mutex_init(m) };
    steps::init(m as u64, site);
}

/// `g_mutex_clear`.
pub unsafe extern "C-unwind" fn clear(m: Mutex, site: u64) {
    steps::destroy(m as u64, site);
    // SAFETY: forwarded.
    unsafe { next::g_mutex_clear(m) };
}

/// `g_mutex_lock`.
pub unsafe extern "C-unwind" fn lock(m: Mutex, site: u64, back: Return) {
    let call = Call { lock: m as u64, flags: 0, site, back };
    // SAFETY: the caller's mutex.
    steps::take(
        call,
        || unsafe { next::g_mutex_trylock(m) } != 0,
        || unsafe {
            next::g_mutex_lock(m);
        },
    );
}

/// `g_mutex_trylock`.
pub unsafe extern "C-unwind" fn trylock(m: Mutex, site: u64, back: Return) -> c_int {
    // SAFETY: forwarded.
    let had = unsafe { next::g_mutex_trylock(m) };
    steps::tried(Call { lock: m as u64, flags: 0, site, back }, had != 0);
    had
}

/// `g_mutex_unlock`.
pub unsafe extern "C-unwind" fn unlock(m: Mutex, site: u64) {
    steps::release(m as u64, site);
    // SAFETY: forwarded.
    unsafe { next::g_mutex_unlock(m) };
}

/// `g_cond_init`.
pub unsafe extern "C-unwind" fn cond_init(c: Cond, _site: u64) {
    steps::forget(c as u64);
    // SAFETY: forwarded.
    unsafe { next::g_cond_init(c) };
}

/// `g_cond_clear`.
pub unsafe extern "C-unwind" fn cond_clear(c: Cond, _site: u64) {
    // SAFETY: forwarded.
    unsafe { next::g_cond_clear(c) };
    steps::forget(c as u64);
}

/// `g_cond_wait`.
pub unsafe extern "C-unwind" fn cond_wait(c: Cond, m: Mutex, site: u64) {
    // SAFETY: forwarded.
    steps::wait(c as u64, m as u64, site, 0, || unsafe { next::g_cond_wait(c, m) });
}

/// `g_cond_wait_until`.
pub unsafe extern "C-unwind" fn cond_wait_until(c: Cond, m: Mutex, end: i64, site: u64) -> c_int {
    let mut signalled = 0;
    steps::wait(c as u64, m as u64, site, mode::TIMED, || {
        // SAFETY: forwarded.
        signalled = unsafe { next::g_cond_wait_until(c, m, end) };
    });
    signalled
}

/// `g_cond_signal`.
pub unsafe extern "C-unwind" fn cond_signal(c: Cond, site: u64) {
    steps::signal(c as u64, site, false);
    // SAFETY: forwarded.
    unsafe { next::g_cond_signal(c) };
}

/// `g_cond_broadcast`.
pub unsafe extern "C-unwind" fn cond_broadcast(c: Cond, site: u64) {
    steps::signal(c as u64, site, true);
    // SAFETY: forwarded.
    unsafe { next::g_cond_broadcast(c) };
}

/// `g_once_init_enter`. Who is told to initialise holds the gate until `g_once_init_leave`, and
/// others wait for that. Without a way to try, that nobody initialises is asked of who did so.
pub unsafe extern "C-unwind" fn once_init_enter(gate: Gate, site: u64, back: Return) -> c_int {
    let mut begins = 0;
    let call = Call { lock: gate as u64, flags: 0, site, back };
    // SAFETY: forwarded.
    steps::take_untried(call, || begins = unsafe { next::g_once_init_enter(gate) });
    if begins == 0 {
        steps::give_back(gate as u64, site);
    }
    begins
}

/// `g_once_init_leave`.
pub unsafe extern "C-unwind" fn once_init_leave(gate: Gate, result: usize, site: u64) {
    steps::give_back(gate as u64, site);
    // SAFETY: forwarded.
    unsafe { next::g_once_init_leave(gate, result) };
}

/// A GRecMutex or GRWLock without its pthread lock is about to be used, and to get one from the
/// calling thread. That is not the first to know of it, for all that its lock is new.
pub unsafe extern "C-unwind" fn makes() {
    // SAFETY: the calling thread's state, or null.
    if let Some(thread) = unsafe { tls::get().as_mut() } {
        thread.shares();
    }
}
