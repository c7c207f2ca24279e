//! sem_t: its life, and each way to wait for one.

use core::ffi::{c_int, c_uint};

use libc::{clockid_t, sem_t, timespec};
use lockwright_ledger::rows::mode;

use crate::callsite::Return;
use crate::debugobjects::{init_destroy, types, waiters};
use crate::libc::real;
use crate::lock_id::{identity, lock_pages};
use crate::lockdep::semaphore;
use crate::os::deadline;

type Semaphore = *mut sem_t;

/// # Safety
/// The arguments keep the contract of `sem_init`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn init(
    s: Semaphore,
    shared: c_int,
    value: c_uint,
    site: u64,
    back: Return,
) -> c_int {
    /// SEM_VALUE_MAX.
    const MOST: c_uint = c_int::MAX as c_uint;
    if value > MOST {
        // SAFETY: the program's own arguments go on unchanged; for such a value the call fails and
        // does not look at `s`.
        return unsafe { real::sem_init(s, shared, value) };
    }
    // SAFETY: `s` is the memory that the program initialises as a semaphore, and `sem_init` gets it
    // unchanged.
    let call = || unsafe {
        semaphore::end(s);
        real::sem_init(s, shared, value)
    };
    // SAFETY: `sem_init` has just initialised `s`, so nobody has used it yet. The stub passed the call that has not returned.
    let then = || unsafe { semaphore::begins(s, shared, value, back.frame(site)) };
    init_destroy::init_then(&types::SEMAPHORE, s as u64, call, then)
}

/// # Safety
/// The arguments keep the contract of `sem_destroy`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn destroy(s: Semaphore, site: u64, back: Return) -> c_int {
    if !lock_pages::has_memory(s) {
        // SAFETY: there is no memory, and the C library does not look; the program's own `s` goes
        // on unchanged.
        return unsafe { real::sem_destroy(s) };
    }
    // SAFETY: `s` is the program's own semaphore, which `sem_destroy` gets unchanged.
    let call = || unsafe {
        semaphore::end(s);
        real::sem_destroy(s)
    };
    // SAFETY: the stub passed the call that has not returned.
    unsafe { init_destroy::destroy_at(&types::SEMAPHORE, s as u64, back.frame(site), call) }
}

/// # Safety
/// The arguments keep the contract of `sem_wait`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn wait(s: Semaphore, site: u64, back: Return) -> c_int {
    // SAFETY: `s` is the program's own semaphore, which `sem_wait` gets unchanged; the stub passed
    // `site` and `back`.
    unsafe { semaphore::take(s, 0, site, back, || visibly(s, || real::sem_wait(s))) }
}

/// # Safety
/// The arguments keep the contract of `sem_timedwait`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn timedwait(
    s: Semaphore,
    t: *const timespec,
    site: u64,
    back: Return,
) -> c_int {
    // SAFETY: the next `sem_timedwait` gets the program's own `s` and `t` unchanged, as without us.
    let block = || unsafe { real::sem_timedwait(s, t) };
    // SAFETY: `s` is the program's own semaphore, and `t` its deadline or null; the stub passed
    // `site` and `back`.
    unsafe {
        match deadline::is_time(t) {
            true => semaphore::take(s, mode::TIMED, site, back, || visibly(s, block)),
            false => block(),
        }
    }
}

/// # Safety
/// The arguments keep the contract of `sem_clockwait`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn clockwait(
    s: Semaphore,
    clock: clockid_t,
    t: *const timespec,
    site: u64,
    back: Return,
) -> c_int {
    // SAFETY: the next `sem_clockwait` gets the program's own arguments unchanged, as without us.
    let block = || unsafe { real::sem_clockwait(s, clock, t) };
    // SAFETY: `s` is the program's own semaphore, and `t` its deadline or null; the stub passed
    // `site` and `back`.
    unsafe {
        match deadline::is_clock(clock) && deadline::is_time(t) {
            true => semaphore::take(s, mode::TIMED, site, back, || visibly(s, block)),
            false => block(),
        }
    }
}

/// Takes the semaphore by `block`; if that waits, a thread that destroys it meanwhile can see it.
///
/// # Safety
/// The caller's semaphore.
unsafe fn visibly(s: Semaphore, block: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the caller promises its semaphore, whose value `is_taken` reads.
    match unsafe { identity::is_taken(s) } {
        true => waiters::during(&types::SEMAPHORE, s as u64, 0, block),
        false => block(),
    }
}
