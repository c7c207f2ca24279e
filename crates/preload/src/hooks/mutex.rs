//! pthread_mutex_*: all types and forms.

use core::ffi::c_int;

use libc::{clockid_t, pthread_mutex_t, pthread_mutexattr_t, timespec};
use lockwright_engines::lockdep::{Acquire, Ident, ThreadState};
use lockwright_ledger::rows::mode;

use super::watch::{self, Blocking};
use crate::identity::{self, Birth, kind_of, mutex_kind};
use crate::{real, state};

type Mutex = *mut pthread_mutex_t;

pub unsafe extern "C-unwind" fn init(
    m: Mutex,
    attr: *const pthread_mutexattr_t,
    _site: u64,
) -> c_int {
    // SAFETY: forwarded.
    let result = unsafe { real::pthread_mutex_init(m, attr) };
    if result == 0 && state::status() == state::ACTIVE {
        // SAFETY: just initialised.
        unsafe { identity::identify(m, Birth::Init) };
    }
    result
}

pub unsafe extern "C-unwind" fn destroy(m: Mutex, _site: u64) -> c_int {
    // SAFETY: forwarded.
    let result = unsafe { real::pthread_mutex_destroy(m) };
    if result == 0 {
        // SAFETY: the caller still owns the memory.
        unsafe { identity::forget(m) };
    }
    result
}

pub unsafe extern "C-unwind" fn lock(m: Mutex, site: u64) -> c_int {
    // SAFETY: forwarded.
    let block = || unsafe { real::pthread_mutex_lock(m) };
    let Some((thread, ident)) = watch::subject(m) else { return block() };
    // SAFETY: the caller's mutex.
    unsafe { acquire(m, site, thread, ident, 0, block) }
}

pub unsafe extern "C-unwind" fn timedlock(m: Mutex, timeout: *const timespec, site: u64) -> c_int {
    // SAFETY: forwarded.
    let block = || unsafe { real::pthread_mutex_timedlock(m, timeout) };
    let Some((thread, ident)) = watch::subject(m) else { return block() };
    // SAFETY: the caller's mutex.
    unsafe { acquire(m, site, thread, ident, mode::TIMED, block) }
}

pub unsafe extern "C-unwind" fn clocklock(
    m: Mutex,
    clock: clockid_t,
    timeout: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: forwarded.
    let block = || unsafe { real::pthread_mutex_clocklock(m, clock, timeout) };
    let Some((thread, ident)) = watch::subject(m) else { return block() };
    // SAFETY: the caller's mutex.
    unsafe { acquire(m, site, thread, ident, mode::TIMED, block) }
}

#[inline(always)]
unsafe fn acquire(
    m: Mutex,
    site: u64,
    thread: &mut ThreadState,
    ident: Ident,
    mode: u16,
    block: impl FnOnce() -> c_int,
) -> c_int {
    let lock = Acquire { addr: m as u64, ident, mode, site };
    // SAFETY: the caller's mutex.
    let kind = unsafe { kind_of(m) };
    if kind & mutex_kind::TYPE == mutex_kind::RECURSIVE
        && thread.depth() != 0
        && thread.find(lock.addr).is_some()
    {
        let result = block();
        if result == 0 {
            thread.recurse(lock.addr);
        }
        return result;
    }
    let relock_fails = kind & mutex_kind::TYPE == mutex_kind::ERRORCHECK;
    if kind & mutex_kind::SPECIAL != 0 {
        // Robust, PI, PP: a trylock is not just a lock that does not wait.
        return acquire_special(m, thread, &lock, relock_fails, block);
    }
    watch::acquire(
        thread,
        &lock,
        // SAFETY: the caller's mutex; `__owner` at offset 8. Read only if the lock is taken.
        || unsafe { Blocking { relock_fails, owner: m.cast::<u32>().add(2).read_volatile() } },
        // SAFETY: forwarded.
        || unsafe { real::pthread_mutex_trylock(m) },
        block,
    )
}

#[cold]
fn acquire_special(
    m: Mutex,
    thread: &mut ThreadState,
    lock: &Acquire,
    relock_fails: bool,
    block: impl FnOnce() -> c_int,
) -> c_int {
    let probe = watch::before(thread, lock);
    // The futex word of a free lock has no owner bits. Robust locks of dead owners do not block.
    // SAFETY: the caller's mutex; `__lock` at offset 0.
    let word = unsafe { m.cast::<u32>().read_volatile() };
    let result = match word & (libc::FUTEX_TID_MASK) {
        0 => block(),
        owner => watch::wait(thread, lock, probe.node(), Blocking { relock_fails, owner }, block),
    };
    if result == 0 || result == libc::EOWNERDEAD {
        watch::after(thread, lock, probe);
    }
    result
}

pub unsafe extern "C-unwind" fn trylock(m: Mutex, site: u64) -> c_int {
    // SAFETY: forwarded.
    let result = unsafe { real::pthread_mutex_trylock(m) };
    if (result == 0 || result == libc::EOWNERDEAD)
        && let Some((thread, ident)) = watch::subject(m)
    {
        // SAFETY: the caller's mutex.
        let recursive = unsafe { kind_of(m) } & mutex_kind::TYPE == mutex_kind::RECURSIVE;
        if recursive && thread.recurse(m as u64) {
            return result;
        }
        let lock = Acquire { addr: m as u64, ident, mode: mode::TRY, site };
        let probe = watch::before(thread, &lock);
        watch::after(thread, &lock, probe);
    }
    result
}

pub unsafe extern "C-unwind" fn unlock(m: Mutex, _site: u64) -> c_int {
    // SAFETY: forwarded.
    let result = unsafe { real::pthread_mutex_unlock(m) };
    if result == 0 {
        watch::released(m as u64);
    }
    result
}
