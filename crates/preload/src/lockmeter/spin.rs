//! Spinlocks.

use core::ffi::c_int;

use libc::{EBUSY, pthread_spinlock_t};

use super::wait::{self, Contended, Owner};
use super::{Target, hold, spot, subject, tls};
use crate::callsite::Return;
use crate::libc::real;
use crate::lock_id::by_address::spin_lock;

type Spin = *mut pthread_spinlock_t;

/// `pthread_spin_lock`.
pub unsafe extern "C-unwind" fn lock(l: Spin, site: u64, back: Return) -> c_int {
    // SAFETY: the caller's lock.
    match unsafe { attempt(l, site, back, false) } {
        // SAFETY: as above.
        EBUSY => unsafe { waited_for(l, site) },
        result => result,
    }
}

/// `pthread_spin_trylock`.
pub unsafe extern "C-unwind" fn trylock(l: Spin, site: u64, back: Return) -> c_int {
    // SAFETY: the caller's lock.
    unsafe { attempt(l, site, back, true) }
}

/// Tries for the lock. EBUSY is a reject, or leaves no trace.
#[inline(always)]
unsafe fn attempt(l: Spin, site: u64, back: Return, rejects: bool) -> c_int {
    // SAFETY: forwarded.
    let try_lock = || unsafe { real::pthread_spin_trylock(l) };
    let Some((thread, ident)) = subject(spin_lock(l)) else { return try_lock() };
    let target = Target { addr: l as u64, ident, mode: 0, site, back };
    let Some(spot) = spot(thread, &target) else { return try_lock() };
    spot.cell.begin();
    hold::begin(thread, l as u64, spot, false);
    let result = try_lock();
    if result != 0 {
        hold::cancel(thread, rejects);
    }
    result
}

/// `back` is not kept over the first try: what it saves is nothing beside a wait.
#[cold]
unsafe fn waited_for(l: Spin, site: u64) -> c_int {
    // SAFETY: forwarded.
    let block = || unsafe { real::pthread_spin_lock(l) };
    let Some((thread, ident)) = subject(spin_lock(l)) else { return block() };
    let target = Target { addr: l as u64, ident, mode: 0, site, back: Return::UNKNOWN };
    let Some(spot) = spot(thread, &target) else { return block() };
    let contended = Contended { owner: Owner::Unknown, spins: true, shared: false };
    wait::lock(thread, &target, spot, contended, block)
}

/// `pthread_spin_unlock`.
pub unsafe extern "C-unwind" fn unlock(l: Spin, _site: u64) -> c_int {
    // SAFETY: as `super::thread`; who has no meter holds nothing.
    let thread = unsafe { &mut *tls::raw() };
    // SAFETY: forwarded.
    hold::release_counted(thread, l as u64, || unsafe { real::pthread_spin_unlock(l) })
}
