//! pthread_spin_*: four bytes have no room for a stamp, so these are known by address.

use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, Ordering::Relaxed};

use libc::pthread_spinlock_t;
use lockwright_engines::lockdep::ThreadState;

use crate::libc::real;
use crate::lock_id::by_address::{SpinLock, spin_lock};
use crate::lock_id::identity::{self, Birth};
use crate::lock_id::inherited;
use crate::lockdep::acquire::Watched;
use crate::lockdep::{fast_path, misuse, watch};
use crate::os::tls;

type Spin = *mut pthread_spinlock_t;

impl Watched for SpinLock {
    unsafe fn may_be_held(this: *mut Self) -> bool {
        // SAFETY: a spinlock is known by its address alone, so its memory is not touched.
        unsafe { identity::known(this) }.is_some()
    }
}

/// The word of a spinlock that is free, which the C library defines for each architecture.
fn free_word() -> c_int {
    /// As [`free_word`] has found it, or [`UNKNOWN`].
    static WORD: AtomicI32 = AtomicI32::new(UNKNOWN);
    /// No value of a spinlock.
    const UNKNOWN: c_int = c_int::MIN;
    // Relaxed: every thread finds the same value.
    if WORD.load(Relaxed) == UNKNOWN {
        let mut lock = 0;
        // SAFETY: the lock is a local of our own, one word large.
        unsafe { real::pthread_spin_init(&raw mut lock, 0) };
        WORD.store(lock, Relaxed);
    }
    WORD.load(Relaxed)
}

/// The slow path of [`unlock`]: the lock is not the innermost that is held, or is not held at all.
///
/// # Safety
/// `l` is the spinlock of the program's call of `pthread_spin_unlock`.
#[cold]
unsafe fn unlock_slow(l: Spin) -> c_int {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else {
        // SAFETY: the next `pthread_spin_unlock` gets the program's own `l` unchanged, as without
        // us.
        let result = unsafe { real::pthread_spin_unlock(l) };
        inherited::unlocked(l as u64);
        return result;
    };
    // SAFETY: the program passed `l` to be unlocked: it is its spinlock, one aligned word, read as
    // volatile.
    let is_free = unsafe { l.cast_const().read_volatile() } == free_word();
    let is_unlocked = is_free && thread.find(l as u64).is_none();
    // SAFETY: a spinlock is known by its address alone, so its memory is not touched.
    let ident = match unsafe { identity::known(spin_lock(l)) } {
        // Nobody has locked it yet: that is the news.
        // SAFETY: a spinlock is known by its address alone, so its memory is not touched.
        None if is_unlocked => unsafe { identity::identify(spin_lock(l), Birth::FirstAcquire) },
        known => known,
    };
    // SAFETY: the next `pthread_spin_unlock` gets the program's own `l` unchanged, as without us.
    let result = unsafe { real::pthread_spin_unlock(l) };
    let Some(thread) = watch::own() else { return result };
    match ident {
        Some(ident) if is_unlocked => misuse::bad_unlock(thread, l as u64, ident, false),
        _ => watch::released(thread, l as u64, ident),
    }
    result
}

/// # Safety
/// The arguments keep the contract of `pthread_spin_unlock`.
pub unsafe extern "C-unwind" fn unlock(l: Spin, _site: u64) -> c_int {
    // SAFETY: the next `pthread_spin_unlock` gets the program's own `l` unchanged, as without us.
    let forward = |_: &mut ThreadState| unsafe { real::pthread_spin_unlock(l) };
    let slow = |thread: &mut ThreadState, _| watch::released(thread, l as u64, None);
    match fast_path::unlock(l as u64, forward, slow) {
        Some(result) => result,
        // SAFETY: the program's own `l` goes on unchanged, as `pthread_spin_unlock` would get it.
        None => unsafe { unlock_slow(l) },
    }
}
