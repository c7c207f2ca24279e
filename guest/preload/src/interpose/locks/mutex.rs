//! pthread_mutex_t: its life, and what takes one, except `pthread_mutex_lock`: each engine has a
//! fast path of its own for that. None of these is inlined into C11's, so that each is compiled
//! once.

use core::ffi::c_int;

use libc::{clockid_t, pthread_mutex_t, pthread_mutexattr_t, timespec};
use lockwright_ledger::rows::mode;

use crate::callsite::Return;
use crate::debugobjects::{Type, attribute_calls, types};
use crate::interpose::engine::{Call, Engine, Lockdep};
use crate::interpose::lifetimes;
use crate::libc::real;
use crate::os::deadline;
use crate::stack::unwind::Frame;

type Mutex = *mut pthread_mutex_t;

/// `pthread_mutex_init`.
///
/// # Safety
/// The arguments keep the contract of `pthread_mutex_init`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn init(
    m: Mutex,
    attr: *const pthread_mutexattr_t,
    site: u64,
    back: Return,
) -> c_int {
    attribute_calls::made_by(&types::MUTEXATTR, attr);
    // SAFETY: `m` and `attr` are the program's own arguments of `pthread_mutex_init`, which gets
    // them unchanged.
    unsafe { init_by(&types::MUTEX, m, back.frame(site), || real::pthread_mutex_init(m, attr)) }
}

/// A mutex is initialised by `call`, which answers 0 if it was, as an object of `kind`.
///
/// # Safety
/// The caller's memory, large enough for a mutex. `from`, the call of the program's, has not returned; its frame pointer may be
/// anything.
pub unsafe fn init_by(
    kind: &'static Type,
    m: Mutex,
    from: Option<Frame>,
    call: impl FnOnce() -> c_int,
) -> c_int {
    match lifetimes::are_unheard() {
        true => call(),
        // SAFETY: the caller promises memory that is large enough for a mutex, as `lifetimes::init`
        // asks.
        false => unsafe { lifetimes::init(kind, m, false, from, call) },
    }
}

/// `pthread_mutex_destroy`.
///
/// # Safety
/// The arguments keep the contract of `pthread_mutex_destroy`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn destroy(m: Mutex, site: u64, back: Return) -> c_int {
    // SAFETY: `m` is the program's own mutex, which nobody may use any more, as
    // `pthread_mutex_destroy` asks.
    unsafe {
        lifetimes::destroy(&types::MUTEX, m, back.frame(site), || real::pthread_mutex_destroy(m))
    }
}

/// `pthread_mutex_lock` of any mutex.
///
/// # Safety
/// The arguments keep the contract of `pthread_mutex_lock`; the stub passes `site` and `back`.
#[inline(never)]
pub unsafe extern "C-unwind" fn lock_slow<E: Engine>(m: Mutex, site: u64, back: Return) -> c_int {
    let call = Call { lock: m, mode: 0, site, back };
    // SAFETY: the next `pthread_mutex_lock` gets the program's own `m` unchanged, as without us.
    let block = move |m| unsafe { real::pthread_mutex_lock(m) };
    // SAFETY: this wrapper for lockdep, `lock_slow::<Lockdep>`, gets the same call's arguments.
    let by_lockdep = || unsafe { lock_slow::<Lockdep>(m, site, back) };
    // SAFETY: `call.lock` is the lock that the program passed to be taken, as the engine requires.
    unsafe { E::acquire(call, || true, block, by_lockdep) }
}

/// `pthread_mutex_trylock`.
///
/// # Safety
/// The arguments keep the contract of `pthread_mutex_trylock`; the stub passes `site` and `back`.
#[inline(never)]
pub unsafe extern "C-unwind" fn trylock<E: Engine>(m: Mutex, site: u64, back: Return) -> c_int {
    let call = Call { lock: m, mode: 0, site, back };
    // SAFETY: this wrapper for lockdep, `trylock::<Lockdep>`, gets the same call's arguments.
    let by_lockdep = || unsafe { trylock::<Lockdep>(m, site, back) };
    // SAFETY: `call.lock` is the lock that the program passed to be taken, as the engine requires.
    unsafe { E::try_acquire(call, by_lockdep) }
}

/// `pthread_mutex_timedlock`.
///
/// # Safety
/// The arguments keep the contract of `pthread_mutex_timedlock`; the stub passes `site` and `back`.
#[inline(never)]
pub unsafe extern "C-unwind" fn timedlock<E: Engine>(
    m: Mutex,
    t: *const timespec,
    site: u64,
    back: Return,
) -> c_int {
    let call = Call { lock: m, mode: mode::TIMED, site, back };
    // SAFETY: the next `pthread_mutex_timedlock` gets the program's own `m` and `t` unchanged, as
    // without us.
    let block = move |m| unsafe { real::pthread_mutex_timedlock(m, t) };
    // SAFETY: this wrapper for lockdep, `timedlock::<Lockdep>`, gets the same call's arguments.
    let by_lockdep = || unsafe { timedlock::<Lockdep>(m, t, site, back) };
    // SAFETY: `call.lock` is the lock that the program passed to be taken, as the engine requires.
    unsafe { E::acquire(call, || true, block, by_lockdep) }
}

/// `pthread_mutex_clocklock`.
///
/// # Safety
/// The arguments keep the contract of `pthread_mutex_clocklock`; the stub passes `site` and `back`.
#[inline(never)]
pub unsafe extern "C-unwind" fn clocklock<E: Engine>(
    m: Mutex,
    clock: clockid_t,
    t: *const timespec,
    site: u64,
    back: Return,
) -> c_int {
    let call = Call { lock: m, mode: mode::TIMED, site, back };
    // SAFETY: the next `pthread_mutex_clocklock` gets the program's own arguments unchanged, as
    // without us.
    let block = move |m| unsafe { real::pthread_mutex_clocklock(m, clock, t) };
    // SAFETY: this wrapper for lockdep, `clocklock::<Lockdep>`, gets the same call's arguments.
    let by_lockdep = || unsafe { clocklock::<Lockdep>(m, clock, t, site, back) };
    // SAFETY: `call.lock` is the lock that the program passed to be taken, as the engine requires.
    unsafe { E::acquire(call, move || deadline::is_clock(clock), block, by_lockdep) }
}
