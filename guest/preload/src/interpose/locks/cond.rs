//! pthread_cond_t: its life, each way to wait on one, and signals that somebody looks at.

use core::ffi::c_int;

use libc::{clockid_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t, timespec};
use lockwright_ledger::rows::mode;

use crate::debugobjects::uses::used_static;
use crate::debugobjects::{Type, attribute_calls, init_destroy, types, waiters};
use crate::libc::real;
use crate::lockdep::cond;
use crate::lockmeter;
use crate::os::deadline;

type Cond = *mut pthread_cond_t;
type Mutex = *mut pthread_mutex_t;

/// # Safety
/// The arguments keep the contract of `pthread_cond_init`.
pub unsafe extern "C-unwind" fn init(
    c: Cond,
    attr: *const pthread_condattr_t,
    _site: u64,
) -> c_int {
    attribute_calls::made_by(&types::CONDATTR, attr);
    // SAFETY: the next `pthread_cond_init` gets the program's own `c` and `attr` unchanged, as
    // without us.
    init_by(&types::COND, c, || unsafe { real::pthread_cond_init(c, attr) })
}

/// A condition variable is initialised by `call`, which answers 0 if it was, as an object of
/// `kind`.
pub fn init_by(kind: &'static Type, c: Cond, call: impl FnOnce() -> c_int) -> c_int {
    init_destroy::init(kind, c as u64, || {
        cond::forget(c);
        call()
    })
}

/// # Safety
/// The arguments keep the contract of `pthread_cond_destroy`.
pub unsafe extern "C-unwind" fn destroy(c: Cond, _site: u64) -> c_int {
    // SAFETY: the next `pthread_cond_destroy` gets the program's own `c` unchanged, as without us.
    destroy_by(c, || unsafe { real::pthread_cond_destroy(c) })
}

/// A condition variable is destroyed by `call`, which answers 0 if it was.
pub fn destroy_by(c: Cond, call: impl FnOnce() -> c_int) -> c_int {
    init_destroy::destroy(&types::COND, c as u64, || {
        // It waits for waiters that are on their way out.
        let result = call();
        cond::forget(c);
        result
    })
}

/// # Safety
/// The arguments keep the contract of `pthread_cond_wait`; the stub passes `site`.
pub unsafe extern "C-unwind" fn wait(c: Cond, m: Mutex, site: u64) -> c_int {
    // SAFETY: `c` and `m` are the program's own arguments, which `pthread_cond_wait` gets
    // unchanged.
    unsafe { wait_by(c, m, site, 0, || real::pthread_cond_wait(c, m)) }
}

/// # Safety
/// The arguments keep the contract of `pthread_cond_timedwait`; the stub passes `site`.
pub unsafe extern "C-unwind" fn timedwait(
    c: Cond,
    m: Mutex,
    t: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: `t` is the deadline of the program's own call: it points to a timespec or is null.
    if !unsafe { deadline::is_time(t) } {
        // It does not come to wait, and gives nothing up.
        // SAFETY: the next `pthread_cond_timedwait` gets the program's own arguments unchanged, as
        // without us.
        return unsafe { real::pthread_cond_timedwait(c, m, t) };
    }
    // SAFETY: `c`, `m` and `t` are the program's own arguments, which `pthread_cond_timedwait` gets
    // unchanged.
    unsafe { wait_by(c, m, site, mode::TIMED, || real::pthread_cond_timedwait(c, m, t)) }
}

/// # Safety
/// The arguments keep the contract of `pthread_cond_clockwait`; the stub passes `site`.
pub unsafe extern "C-unwind" fn clockwait(
    c: Cond,
    m: Mutex,
    clock: clockid_t,
    t: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: `t` is the deadline of the program's own call: it points to a timespec or is null.
    if !deadline::is_clock(clock) || !unsafe { deadline::is_time(t) } {
        // As above.
        // SAFETY: the next `pthread_cond_clockwait` gets the program's own arguments unchanged, as
        // without us.
        return unsafe { real::pthread_cond_clockwait(c, m, clock, t) };
    }
    // SAFETY: `c`, `m` and `t` are the program's own arguments, which `pthread_cond_clockwait` gets
    // unchanged.
    unsafe { wait_by(c, m, site, mode::TIMED, || real::pthread_cond_clockwait(c, m, clock, t)) }
}

/// Waits by `block`, in `timed`, [`mode::TIMED`] or 0.
///
/// # Safety
/// The caller's condition variable and mutex.
unsafe fn wait_by(
    c: Cond,
    m: Mutex,
    site: u64,
    timed: u16,
    block: impl FnOnce() -> c_int,
) -> c_int {
    used_static(&types::COND, c as u64);
    let visibly = |node| waiters::during(&types::COND, c as u64, node, block);
    // SAFETY: the caller promises the condition variable, the mutex and the stub's `site`, as
    // `cond::wait` asks.
    unsafe { cond::wait(c, m, site, timed, visibly) }
}

/// `name = function, to_all`: what a function that signals goes to where its stub has found bytes in the
/// condition variable that none has which may be used, or where somebody has waited on one.
macro_rules! signals {
    ($($name:ident = $function:ident, $to_all:literal;)*) => { $(
        #[doc = concat!("`", stringify!($function), "` of one that is to be looked at.")]
        ///
        /// # Safety
        /// The arguments keep the contract of the function of that name; the stub passes `site`.
        pub unsafe extern "C-unwind" fn $name(c: Cond, site: u64) -> c_int {
            used_static(&types::COND, c as u64);
            cond::signalled(c, site, $to_all);
            lockmeter::cond::signalled(c as u64, site, $to_all);
            // SAFETY: the next function gets the program's own arguments unchanged, as without us.
            unsafe { real::$function(c) }
        }
    )* };
}

signals! {
    signal_strange = pthread_cond_signal, false;
    broadcast_strange = pthread_cond_broadcast, true;
    cnd_signal_strange = cnd_signal, false;
    cnd_broadcast_strange = cnd_broadcast, true;
}
