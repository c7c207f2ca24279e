//! pthread_rwlock_t: its life, and what takes one.

use core::ffi::c_int;

use libc::{clockid_t, pthread_rwlock_t, pthread_rwlockattr_t, timespec};
use lockwright_ledger::rows::mode;

use crate::callsite::Return;
use crate::debugobjects::{attribute_calls, types};
use crate::interpose::engine::{Call, Engine, Lockdep};
use crate::interpose::lifetimes;
use crate::libc::real;
use crate::lock_id::lock_pages;
use crate::os::deadline;

type RwLock = *mut pthread_rwlock_t;

/// `pthread_rwlock_init`.
///
/// # Safety
/// The arguments keep the contract of `pthread_rwlock_init`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn init(
    l: RwLock,
    attr: *const pthread_rwlockattr_t,
    site: u64,
    back: Return,
) -> c_int {
    attribute_calls::made_by(&types::RWLOCKATTR, attr);
    // SAFETY: the next `pthread_rwlock_init` gets the program's own `l` and `attr` unchanged, as
    // without us.
    let call = || unsafe { real::pthread_rwlock_init(l, attr) };
    match lifetimes::are_unheard() {
        true => call(),
        // SAFETY: `l` is the memory that the program initialises as a lock, large enough for one.
        false => unsafe { lifetimes::init(&types::RWLOCK, l, false, back.frame(site), call) },
    }
}

/// `pthread_rwlock_destroy`.
///
/// # Safety
/// The arguments keep the contract of `pthread_rwlock_destroy`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn destroy(l: RwLock, site: u64, back: Return) -> c_int {
    if !lock_pages::has_memory(l) {
        // SAFETY: there is no memory, and the C library does not look; the program's own `l` goes
        // on unchanged.
        return unsafe { real::pthread_rwlock_destroy(l) };
    }
    // SAFETY: `l` is the program's own lock, which nobody may use any more, as
    // `pthread_rwlock_destroy` asks.
    unsafe {
        lifetimes::destroy(&types::RWLOCK, l, back.frame(site), || real::pthread_rwlock_destroy(l))
    }
}

/// `pthread_rwlock_rdlock`.
///
/// # Safety
/// The arguments keep the contract of `pthread_rwlock_rdlock`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn rdlock<E: Engine>(l: RwLock, site: u64, back: Return) -> c_int {
    let call = Call { lock: l, mode: mode::READ, site, back };
    // SAFETY: the next `pthread_rwlock_rdlock` gets the program's own `l` unchanged, as without us.
    let block = move |l| unsafe { real::pthread_rwlock_rdlock(l) };
    // SAFETY: this wrapper for lockdep, `rdlock::<Lockdep>`, gets the same call's arguments.
    let by_lockdep = || unsafe { rdlock::<Lockdep>(l, site, back) };
    // SAFETY: `call.lock` is the lock that the program passed to be taken, as the engine requires.
    unsafe { E::acquire(call, || true, block, by_lockdep) }
}

/// `pthread_rwlock_wrlock`.
///
/// # Safety
/// The arguments keep the contract of `pthread_rwlock_wrlock`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn wrlock<E: Engine>(l: RwLock, site: u64, back: Return) -> c_int {
    let call = Call { lock: l, mode: 0, site, back };
    // SAFETY: the next `pthread_rwlock_wrlock` gets the program's own `l` unchanged, as without us.
    let block = move |l| unsafe { real::pthread_rwlock_wrlock(l) };
    // SAFETY: this wrapper for lockdep, `wrlock::<Lockdep>`, gets the same call's arguments.
    let by_lockdep = || unsafe { wrlock::<Lockdep>(l, site, back) };
    // SAFETY: `call.lock` is the lock that the program passed to be taken, as the engine requires.
    unsafe { E::acquire(call, || true, block, by_lockdep) }
}

/// `pthread_rwlock_timedrdlock`.
///
/// # Safety
/// The arguments keep the contract of `pthread_rwlock_timedrdlock`; the stub passes `site` and
/// `back`.
pub unsafe extern "C-unwind" fn timedrdlock<E: Engine>(
    l: RwLock,
    t: *const timespec,
    site: u64,
    back: Return,
) -> c_int {
    let call = Call { lock: l, mode: mode::READ | mode::TIMED, site, back };
    // SAFETY: the next `pthread_rwlock_timedrdlock` gets the program's own `l` and `t` unchanged,
    // as without us.
    let block = move |l| unsafe { real::pthread_rwlock_timedrdlock(l, t) };
    // SAFETY: this wrapper for lockdep, `timedrdlock::<Lockdep>`, gets the same call's arguments.
    let by_lockdep = || unsafe { timedrdlock::<Lockdep>(l, t, site, back) };
    // SAFETY: `call.lock` is the program's own lock, and `t` its deadline or null.
    unsafe { E::acquire(call, move || deadline::is_time_or_none(t), block, by_lockdep) }
}

/// `pthread_rwlock_timedwrlock`.
///
/// # Safety
/// The arguments keep the contract of `pthread_rwlock_timedwrlock`; the stub passes `site` and
/// `back`.
pub unsafe extern "C-unwind" fn timedwrlock<E: Engine>(
    l: RwLock,
    t: *const timespec,
    site: u64,
    back: Return,
) -> c_int {
    let call = Call { lock: l, mode: mode::TIMED, site, back };
    // SAFETY: the next `pthread_rwlock_timedwrlock` gets the program's own `l` and `t` unchanged,
    // as without us.
    let block = move |l| unsafe { real::pthread_rwlock_timedwrlock(l, t) };
    // SAFETY: this wrapper for lockdep, `timedwrlock::<Lockdep>`, gets the same call's arguments.
    let by_lockdep = || unsafe { timedwrlock::<Lockdep>(l, t, site, back) };
    // SAFETY: `call.lock` is the program's own lock, and `t` its deadline or null.
    unsafe { E::acquire(call, move || deadline::is_time_or_none(t), block, by_lockdep) }
}

/// `pthread_rwlock_clockrdlock`.
///
/// # Safety
/// The arguments keep the contract of `pthread_rwlock_clockrdlock`; the stub passes `site` and
/// `back`.
pub unsafe extern "C-unwind" fn clockrdlock<E: Engine>(
    l: RwLock,
    clock: clockid_t,
    t: *const timespec,
    site: u64,
    back: Return,
) -> c_int {
    let call = Call { lock: l, mode: mode::READ | mode::TIMED, site, back };
    // SAFETY: the next `pthread_rwlock_clockrdlock` gets the program's own arguments unchanged, as
    // without us.
    let block = move |l| unsafe { real::pthread_rwlock_clockrdlock(l, clock, t) };
    // SAFETY: this wrapper for lockdep, `clockrdlock::<Lockdep>`, gets the same call's arguments.
    let by_lockdep = || unsafe { clockrdlock::<Lockdep>(l, clock, t, site, back) };
    // SAFETY: `call.lock` is the program's own lock, and `t` its deadline or null.
    unsafe {
        E::acquire(
            call,
            move || deadline::is_clock(clock) && deadline::is_time_or_none(t),
            block,
            by_lockdep,
        )
    }
}

/// `pthread_rwlock_clockwrlock`.
///
/// # Safety
/// The arguments keep the contract of `pthread_rwlock_clockwrlock`; the stub passes `site` and
/// `back`.
pub unsafe extern "C-unwind" fn clockwrlock<E: Engine>(
    l: RwLock,
    clock: clockid_t,
    t: *const timespec,
    site: u64,
    back: Return,
) -> c_int {
    let call = Call { lock: l, mode: mode::TIMED, site, back };
    // SAFETY: the next `pthread_rwlock_clockwrlock` gets the program's own arguments unchanged, as
    // without us.
    let block = move |l| unsafe { real::pthread_rwlock_clockwrlock(l, clock, t) };
    // SAFETY: this wrapper for lockdep, `clockwrlock::<Lockdep>`, gets the same call's arguments.
    let by_lockdep = || unsafe { clockwrlock::<Lockdep>(l, clock, t, site, back) };
    // SAFETY: `call.lock` is the program's own lock, and `t` its deadline or null.
    unsafe {
        E::acquire(
            call,
            move || deadline::is_clock(clock) && deadline::is_time_or_none(t),
            block,
            by_lockdep,
        )
    }
}

/// `pthread_rwlock_tryrdlock`.
///
/// # Safety
/// The arguments keep the contract of `pthread_rwlock_tryrdlock`; the stub passes `site` and
/// `back`.
pub unsafe extern "C-unwind" fn tryrdlock<E: Engine>(l: RwLock, site: u64, back: Return) -> c_int {
    let call = Call { lock: l, mode: mode::READ, site, back };
    // SAFETY: this wrapper for lockdep, `tryrdlock::<Lockdep>`, gets the same call's arguments.
    let by_lockdep = || unsafe { tryrdlock::<Lockdep>(l, site, back) };
    // SAFETY: `call.lock` is the lock that the program passed to be taken, as the engine requires.
    unsafe { E::try_acquire(call, by_lockdep) }
}

/// `pthread_rwlock_trywrlock`.
///
/// # Safety
/// The arguments keep the contract of `pthread_rwlock_trywrlock`; the stub passes `site` and
/// `back`.
pub unsafe extern "C-unwind" fn trywrlock<E: Engine>(l: RwLock, site: u64, back: Return) -> c_int {
    let call = Call { lock: l, mode: 0, site, back };
    // SAFETY: this wrapper for lockdep, `trywrlock::<Lockdep>`, gets the same call's arguments.
    let by_lockdep = || unsafe { trywrlock::<Lockdep>(l, site, back) };
    // SAFETY: `call.lock` is the lock that the program passed to be taken, as the engine requires.
    unsafe { E::try_acquire(call, by_lockdep) }
}
