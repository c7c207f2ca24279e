//! What takes a pthread_spinlock_t.

use core::ffi::c_int;

use libc::pthread_spinlock_t;

use super::engine::{Call, Engine, Lockdep};
use crate::callsite::Return;
use crate::libc::real;
use crate::lock_id::by_address::spin_lock;

type Spin = *mut pthread_spinlock_t;

/// `pthread_spin_lock`.
pub unsafe extern "C-unwind" fn lock<E: Engine>(l: Spin, site: u64, back: Return) -> c_int {
    let call = Call { lock: spin_lock(l).cast_mut(), mode: 0, site, back };
    // SAFETY: forwarded.
    let block = move |_| unsafe { real::pthread_spin_lock(l) };
    // SAFETY: forwarded.
    let by_lockdep = || unsafe { lock::<Lockdep>(l, site, back) };
    // SAFETY: the caller's lock.
    unsafe { E::acquire(call, || true, block, by_lockdep) }
}

/// `pthread_spin_trylock`.
pub unsafe extern "C-unwind" fn trylock<E: Engine>(l: Spin, site: u64, back: Return) -> c_int {
    let call = Call { lock: spin_lock(l).cast_mut(), mode: 0, site, back };
    // SAFETY: forwarded.
    let by_lockdep = || unsafe { trylock::<Lockdep>(l, site, back) };
    // SAFETY: the caller's lock.
    unsafe { E::try_acquire(call, by_lockdep) }
}
