//! Spinlocks.

use core::ffi::c_int;

use libc::{EBUSY, pthread_spinlock_t};

use super::wait::{self, Manner, Owner};
use super::{Target, hold, spot, subject};
use crate::hooks::spin_lock;
use crate::real;

type Spin = *mut pthread_spinlock_t;

/// `pthread_spin_lock`.
pub unsafe extern "C-unwind" fn lock(l: Spin, site: u64) -> c_int {
    // SAFETY: the caller's lock.
    match unsafe { attempt(l, site, false) } {
        // SAFETY: as above.
        EBUSY => unsafe { waited_for(l, site) },
        result => result,
    }
}

/// `pthread_spin_trylock`.
pub unsafe extern "C-unwind" fn trylock(l: Spin, site: u64) -> c_int {
    // SAFETY: the caller's lock.
    unsafe { attempt(l, site, true) }
}

/// Tries for the lock. EBUSY is a reject, or leaves no trace.
#[inline(always)]
unsafe fn attempt(l: Spin, site: u64, rejects: bool) -> c_int {
    // SAFETY: forwarded.
    let try_lock = || unsafe { real::pthread_spin_trylock(l) };
    let Some((thread, ident)) = subject(spin_lock(l)) else { return try_lock() };
    let target = Target { addr: l as u64, ident, mode: 0, site };
    let Some(spot) = spot(thread, &target) else { return try_lock() };
    spot.cell.begin();
    let result = try_lock();
    if result == 0 {
        hold::begin(thread, l as u64, spot, false);
    } else if rejects {
        spot.cell.reject();
    } else {
        spot.cell.take_back();
    }
    result
}

#[cold]
unsafe fn waited_for(l: Spin, site: u64) -> c_int {
    // SAFETY: forwarded.
    let block = || unsafe { real::pthread_spin_lock(l) };
    let Some((thread, ident)) = subject(spin_lock(l)) else { return block() };
    let target = Target { addr: l as u64, ident, mode: 0, site };
    let Some(spot) = spot(thread, &target) else { return block() };
    let manner = Manner { owner: Owner::Unknown, spins: true, shared: false };
    wait::lock(thread, &target, spot, manner, block)
}

/// `pthread_spin_unlock`.
pub unsafe extern "C-unwind" fn unlock(l: Spin, _site: u64) -> c_int {
    // SAFETY: forwarded.
    hold::release(l as u64, || unsafe { real::pthread_spin_unlock(l) })
}
