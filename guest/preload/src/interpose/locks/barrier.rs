//! pthread_barrier_t: its life, and the wait at one.

use core::ffi::{c_int, c_uint};

use libc::{pthread_barrier_t, pthread_barrierattr_t};
use lockwright_ledger::rows::meter::blocking_call;

use crate::debugobjects::uses::used;
use crate::debugobjects::{attribute_calls, init_destroy, types, waiters};
use crate::libc::real;
use crate::lockdep::{handovers, left_held};

type Barrier = *mut pthread_barrier_t;

/// # Safety
/// The arguments keep the contract of `pthread_barrier_init`.
pub unsafe extern "C-unwind" fn init(
    b: Barrier,
    attr: *const pthread_barrierattr_t,
    count: c_uint,
    _site: u64,
) -> c_int {
    /// What glibc calls BARRIER_IN_THRESHOLD.
    const MOST: c_uint = c_uint::MAX / 2;
    // SAFETY: the next `pthread_barrier_init` gets the program's own arguments unchanged, as
    // without us.
    let call = || unsafe { real::pthread_barrier_init(b, attr, count) };
    if !(1..=MOST).contains(&count) {
        // It fails, whatever is there.
        return call();
    }
    attribute_calls::made_by(&types::BARRIERATTR, attr);
    let result = init_destroy::init(&types::BARRIER, b as u64, call);
    if result == 0 {
        // SAFETY: attributes that the C library has read, whose only field says whether the barrier is
        // process-shared.
        let is_shared = !attr.is_null() && unsafe { attr.cast::<c_int>().read() } != 0;
        handovers::barrier_begins(b as u64, count, is_shared);
    }
    result
}

/// # Safety
/// The arguments keep the contract of `pthread_barrier_destroy`.
pub unsafe extern "C-unwind" fn destroy(b: Barrier, _site: u64) -> c_int {
    // SAFETY: the program's own `b` goes on unchanged. The call waits for threads that are on their
    // way out.
    let call = || unsafe { real::pthread_barrier_destroy(b) };
    init_destroy::destroy(&types::BARRIER, b as u64, call)
}

/// # Safety
/// The arguments keep the contract of `pthread_barrier_wait`; the stub passes `site`.
pub unsafe extern "C-unwind" fn wait(b: Barrier, site: u64) -> c_int {
    left_held::idles(const { blocking_call("pthread_barrier_wait") }, site);
    // SAFETY: the next `pthread_barrier_wait` gets the program's own `b` unchanged, as without us.
    let block = || unsafe { real::pthread_barrier_wait(b) };
    handovers::barrier_wait(b as u64, site, || {
        used(&types::BARRIER, b as u64);
        waiters::during(&types::BARRIER, b as u64, 0, block)
    })
}
