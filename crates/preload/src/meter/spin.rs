//! Spinlocks.

use core::ffi::c_int;

use libc::{EBUSY, pthread_spinlock_t};

use super::wait::{self, Manner, Owner};
use super::{Target, hold, spot, subject, tls};
use crate::hooks::spin_lock;
use crate::real;

type Spin = *mut pthread_spinlock_t;

/// `pthread_spin_lock`, whole.
pub unsafe extern "C-unwind" fn lock(l: Spin, site: u64) -> c_int {
    // SAFETY: the caller's lock.
    match unsafe { try_first(l, site) } {
        // SAFETY: as above.
        EBUSY => unsafe { block(l, site) },
        result => result,
    }
}

/// Tries for the lock, as the first step of taking it: EBUSY leaves no trace.
pub unsafe fn try_first(l: Spin, site: u64) -> c_int {
    // SAFETY: the caller's lock.
    unsafe { attempt(l, site, false) }
}

/// `pthread_spin_trylock`.
pub unsafe extern "C-unwind" fn trylock(l: Spin, site: u64) -> c_int {
    // SAFETY: the caller's lock.
    unsafe { attempt(l, site, true) }
}

#[inline(always)]
unsafe fn attempt(l: Spin, site: u64, rejects: bool) -> c_int {
    // SAFETY: forwarded.
    let try_lock = || unsafe { real::pthread_spin_trylock(l) };
    let Some((thread, ident)) = subject(spin_lock(l)) else { return try_lock() };
    let Some(spot) = spot(thread, &Target { addr: l as u64, ident, mode: 0, site }) else {
        return try_lock();
    };
    spot.cell.begin();
    let result = try_lock();
    match result {
        0 => hold::begin(thread, l as u64, spot),
        _ if rejects => spot.cell.reject(),
        _ => spot.cell.take_back(),
    }
    result
}

/// Spins for the lock.
pub unsafe fn block(l: Spin, site: u64) -> c_int {
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
    let unlock = || unsafe { real::pthread_spin_unlock(l) };
    // SAFETY: as `super::thread`; who has no meter holds nothing.
    let thread = unsafe { &mut *tls::raw() };
    match thread.innermost(l as u64) {
        Some(ending) => hold::end_innermost(thread, l as u64, ending, unlock),
        None => hold::end(thread, l as u64, unlock),
    }
}
