//! Condition waits: the mutex is given up and taken again inside, past our other wrappers.

use core::ffi::c_int;

use libc::{clockid_t, pthread_cond_t, pthread_mutex_t, timespec};
use lockwright_engines::lockdep::{Acquire, Probe};
use lockwright_ledger::rows::mode;

use super::watch;
use crate::{identity, real, tls};

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
    // SAFETY: the caller's mutex.
    let ident = unsafe { identity::stamped(m) };
    let Some(held) = thread.find(address).map(|i| thread.held()[i as usize]) else { return wait() };
    if thread.depth() == 1 || thread.held().last().is_some_and(|top| top.addr == address) {
        // The innermost lock comes back where it was: no new order. The entry stays, marked, so that
        // a cleanup handler that runs when the wait is cancelled finds the mutex held, as it is.
        thread.cond_release(address);
        let result = wait();
        thread.cond_reacquired(address);
        return result;
    }
    // Locks taken after the mutex stay held: coming back, it is taken inside them. That order is put
    // on record before the wait.
    let lock = Acquire {
        addr: address,
        ident: ident
            .unwrap_or(lockwright_engines::lockdep::Ident { inst: held.inst, class: held.class }),
        mode: mode::COND_REACQUIRE,
        site,
    };
    thread.release(address);
    let probe: Probe = watch::before(thread, &lock);
    let result = wait();
    watch::after(thread, &lock, probe);
    result
}
