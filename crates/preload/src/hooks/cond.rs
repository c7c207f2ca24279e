//! Condition waits: the mutex is given up and taken again inside, past our other wrappers.

use core::ffi::c_int;

use libc::{clockid_t, pthread_cond_t, pthread_mutex_t, timespec};
use lockwright_engines::lockdep::Ident;
use lockwright_ledger::rows::mode;

use super::watch;
use crate::{real, tls};

type Cond = *mut pthread_cond_t;
type Mutex = *mut pthread_mutex_t;

pub unsafe extern "C-unwind" fn wait(c: Cond, m: Mutex, site: u64) -> c_int {
    // SAFETY: forwarded.
    unsafe { around(m, site, || real::pthread_cond_wait(c, m)) }
}

pub unsafe extern "C-unwind" fn timedwait(
    c: Cond,
    m: Mutex,
    t: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: forwarded.
    unsafe { around(m, site, || real::pthread_cond_timedwait(c, m, t)) }
}

pub unsafe extern "C-unwind" fn clockwait(
    c: Cond,
    m: Mutex,
    clock: clockid_t,
    t: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: forwarded.
    unsafe { around(m, site, || real::pthread_cond_clockwait(c, m, clock, t)) }
}

unsafe fn around(m: Mutex, site: u64, wait: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: as `watch::thread`.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else { return wait() };
    let address = m as u64;
    let Some(i) = thread.find(address) else { return wait() };
    if i == thread.depth() {
        // The innermost lock comes back where it was: no new order. The entry stays, marked, so that
        // a cleanup handler that runs when the wait is cancelled finds the mutex held, as it is.
        thread.cond_release(address);
        let result = wait();
        thread.cond_reacquired(address);
        return result;
    }
    // Locks taken after the mutex stay held: coming back, it is taken inside them. That order is put
    // on record before the wait.
    let held = thread.held()[i as usize - 1];
    thread.release(address);
    let ident = Ident::new(held.inst, held.class);
    let known = watch::before(thread, address, ident, mode::COND_REACQUIRE, site);
    let result = wait();
    if known {
        thread.acquired(address);
    }
    result
}
