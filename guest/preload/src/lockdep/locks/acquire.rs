//! How lockdep acquires a lock of any type. The simplest form of a mutex has a fast path of its own
//! (`mutex.rs`).

use core::ffi::c_int;

use lockwright_engines::lockdep::{Acquire, ThreadState};
use lockwright_ledger::rows::mode;

use crate::callsite::Return;
use crate::lock_id::inherited;
use crate::lock_id::lock::Lock;
use crate::lockdep::watch::{self, Blocking};
use crate::os::sys;

/// A lock that lockdep watches.
pub trait Watched: Lock {
    /// The bits of a row's mode for `mode`, which has [`mode::READ`] if the lock is to be read.
    ///
    /// # Safety
    /// The caller's lock.
    #[inline(always)]
    unsafe fn mode(_this: *mut Self, mode: u16) -> u16 {
        mode
    }

    /// Somebody may hold the lock, as far as its memory and the table of known locks tell.
    ///
    /// # Safety
    /// The caller's memory, large enough for such a lock.
    unsafe fn may_be_held(this: *mut Self) -> bool;

    /// Takes the lock, by `block` where it has to be waited for.
    ///
    /// # Safety
    /// The caller's lock; `site` and `back` are as the stub passes them.
    #[inline(always)]
    unsafe fn acquire(
        this: *mut Self,
        mode: u16,
        site: u64,
        back: Return,
        block: impl FnOnce(*mut Self) -> c_int,
    ) -> c_int {
        // SAFETY: the caller promises its lock, and the stub's `site` and `back`, as `acquire`
        // asks.
        unsafe { acquire(this, mode, site, back, block) }
    }

    /// Tries for the lock.
    ///
    /// # Safety
    /// As for [`Watched::acquire`].
    #[inline(always)]
    unsafe fn try_acquire(this: *mut Self, mode: u16, site: u64, back: Return) -> c_int {
        // SAFETY: the caller promises its lock, and the stub's `site` and `back`, as `try_acquire`
        // asks.
        unsafe { try_acquire(this, mode, site, back) }
    }
}

/// An acquisition in its steps: recorded, then tried, and only if it is contended waited for.
///
/// # Safety
/// As for [`Watched::acquire`].
#[inline(always)]
unsafe fn acquire<L: Watched>(
    lock: *mut L,
    mode: u16,
    site: u64,
    back: Return,
    block: impl FnOnce(*mut L) -> c_int,
) -> c_int {
    // SAFETY: the caller promises its lock, whose memory tells the mode.
    let mode = unsafe { L::mode(lock, mode) };
    match watch::reserve(lock, mode, site) {
        // SAFETY: `reserve` has made the entry for this lock, which the caller promises to be its
        // own.
        Some(thread) => unsafe { acquire_reserved(lock, thread, mode, block) },
        // SAFETY: the caller promises its lock, and the stub's `site` and `back`, as
        // `acquire_slow` asks.
        None => unsafe { acquire_slow(lock, site, back, mode, block) },
    }
}

/// The slow path of [`acquire`]: the call site is not known as it is, or the lock or the thread is
/// new.
///
/// # Safety
/// As for [`Watched::acquire`].
#[inline(never)]
unsafe fn acquire_slow<L: Watched>(
    lock: *mut L,
    site: u64,
    back: Return,
    mode: u16,
    block: impl FnOnce(*mut L) -> c_int,
) -> c_int {
    // SAFETY: the stub's `site` and `back` are of the call under way.
    let subject = unsafe { watch::subject_of(lock, || back.frame(site)) };
    let Some((thread, ident)) = subject else { return block(lock) };
    let acquired = Acquire { addr: lock as u64, ident, mode, site };
    // SAFETY: the stub passed `back`, and the call that it belongs to has not returned.
    match unsafe { watch::before_past(thread, acquired, back) } {
        // SAFETY: `before_past` has reserved the entry for this lock, which the caller promises to
        // be its own.
        true => unsafe { acquire_reserved(lock, thread, mode, block) },
        false => block(lock),
    }
}

/// Takes the lock whose entry is reserved.
///
/// # Safety
/// The caller's lock, whose entry `thread` has reserved.
#[inline(always)]
unsafe fn acquire_reserved<L: Watched>(
    lock: *mut L,
    thread: &mut ThreadState,
    mode: u16,
    block: impl FnOnce(*mut L) -> c_int,
) -> c_int {
    // SAFETY: the caller promises its lock; `owner` is null or points to a word of it.
    let blocking = || unsafe {
        let word = L::owner(lock);
        let owner = if word.is_null() { 0 } else { word.read_volatile() };
        let relock_fails = L::REFUSES_OWNER && owner == sys::gettid();
        // That of an inherited lock may be its parent's.
        let is_known = owner != 0 && !inherited::is_inherited(lock as u64);
        Blocking { relock_fails, owner: if is_known { owner } else { 0 } }
    };
    // SAFETY: the caller asked to take its own lock, and a try needs of it no more than that.
    let try_lock = || unsafe { L::try_lock(lock, mode) };
    watch::acquire_reserved(thread, lock as u64, blocking, try_lock, || block(lock))
}

/// A trylock never waits, so it is recorded after it succeeded.
///
/// # Safety
/// As for [`Watched::acquire`].
#[inline(always)]
unsafe fn try_acquire<L: Watched>(lock: *mut L, mode: u16, site: u64, back: Return) -> c_int {
    // SAFETY: the caller promises its own lock, which it asked to be tried.
    let result = unsafe { L::try_lock(lock, mode) };
    if result == 0
        // SAFETY: the stub's `site` and `back` are of the call under way.
        && let Some((thread, ident)) = unsafe { watch::subject_of(lock, || back.frame(site)) }
    {
        // SAFETY: the caller promises its lock, whose memory tells the mode.
        let mode = unsafe { L::mode(lock, mode) } | mode::TRY;
        let acquired = Acquire { addr: lock as u64, ident, mode, site };
        // SAFETY: the stub passed `back`, and the call that it belongs to has not returned.
        unsafe { watch::tried_past(thread, acquired, back) };
    }
    if result != 0 {
        // SAFETY: the caller promises its lock, which it has just tried.
        unsafe { watch::refused(lock) };
    }
    result
}
