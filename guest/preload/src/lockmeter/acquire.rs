//! How lockmeter acquires a lock of any type. The simplest form of a mutex has a fast path of its own
//! (`mutex.rs`).

use core::ffi::c_int;

use libc::{EBUSY, EOWNERDEAD};
use lockwright_engines::lockdep::Ident;
use lockwright_engines::lockmeter::{CellRef, MeterThread};
use lockwright_glibc::table::mutex;

use super::hold;
use super::spots::{spot, subject_of};
use super::target::{Spot, Target};
use super::wait::{self, Contended, Owner};
use crate::callsite::Return;
use crate::lock_id::lock::Lock;

/// A lock that lockmeter counts.
pub trait Counted: Lock {
    /// The thread got the lock at once, in `mode`, and is held since `since` (0: not timed): it is
    /// the innermost.
    ///
    /// # Safety
    /// The caller's lock.
    #[inline(always)]
    unsafe fn had(
        _this: *mut Self,
        _thread: &mut MeterThread,
        _mode: u16,
        _ident: Ident,
        _cell: CellRef,
        _since: u64,
    ) {
    }

    /// The lock, in `mode`, has its entry among the held ones, but there was a wait before.
    ///
    /// # Safety
    /// The caller's lock.
    #[inline(always)]
    unsafe fn had_after_wait(_this: *mut Self, _mode: u16) {}
}

/// Taking the lock now would be taking it once more: it is recursive, and the thread may hold it.
/// Asked before the lock is taken, as its memory is best left alone while it is held: a waiter's
/// CPU may own the cache line then.
///
/// # Safety
/// `lock` points to the caller's lock.
#[inline(always)]
pub unsafe fn may_recur<L: Lock>(lock: *mut L, thread: &MeterThread) -> bool {
    // SAFETY: the caller promises its lock, whose memory tells whether it is recursive.
    !thread.is_idle() && unsafe { L::recurs(lock) }
}

/// Tries for the lock, where that is the same as its first step, and waits by `block` if it is not
/// free.
///
/// # Safety
/// The caller's lock; `site` and `back` are as the stub passes them.
#[inline(always)]
pub unsafe fn acquire<L: Counted>(
    lock: *mut L,
    mode: u16,
    site: u64,
    back: Return,
    block: impl FnOnce(*mut L) -> c_int,
) -> c_int {
    // SAFETY: the caller promises its lock, and the stub's `site` and `back`, as `attempt` asks.
    let result =
        unsafe { if L::is_special(lock) { EBUSY } else { attempt(lock, mode, site, back, false) } };
    match result {
        // SAFETY: the caller promises its lock, and the stub's `site` and `back`, as `waited_for`
        // asks.
        EBUSY => unsafe {
            // What `back` saves is nothing compared with a wait: it is not kept over the first try,
            // if there was one.
            let back = if L::CAN_BE_SPECIAL { back } else { Return::UNKNOWN };
            waited_for(lock, mode, site, back, block)
        },
        result => result,
    }
}

/// Tries for the lock.
///
/// # Safety
/// As for [`acquire`].
#[inline(always)]
pub unsafe fn try_acquire<L: Counted>(lock: *mut L, mode: u16, site: u64, back: Return) -> c_int {
    // SAFETY: the caller promises its lock, and the stub's `site` and `back`, as `attempt` asks.
    unsafe { attempt(lock, mode, site, back, true) }
}

/// Tries for the lock. EBUSY is a reject, or leaves no trace.
///
/// # Safety
/// As for [`acquire`].
#[inline(always)]
unsafe fn attempt<L: Counted>(
    lock: *mut L,
    mode: u16,
    site: u64,
    back: Return,
    rejects: bool,
) -> c_int {
    // SAFETY: the program asked to take its own lock, and a try needs of it no more than that.
    let try_lock = || unsafe { L::try_lock(lock, mode) };
    // SAFETY: the stub's `site` and `back` are of the call under way.
    let subject = unsafe { subject_of(lock, || back.frame(site)) };
    let Some((thread, ident)) = subject else { return try_lock() };
    let target = Target { addr: lock as u64, ident, mode, site, back, has_lines: false };
    let Some(spot) = spot(thread, &target) else { return try_lock() };
    // SAFETY: the program passed `lock` to this call: it points to its lock.
    let recurs = unsafe { may_recur(lock, thread) };
    spot.cell.begin();
    if recurs {
        return attempt_slow(lock as u64, thread, spot, try_lock(), rejects);
    }
    let since = hold::begin(thread, lock as u64, spot, mode != 0);
    let result = try_lock();
    if result != 0 && !(L::CAN_BE_SPECIAL && result == EOWNERDEAD) {
        hold::cancel(thread, result == EBUSY && rejects);
    } else {
        // SAFETY: the caller's lock was just taken, so the thread holds it.
        unsafe { L::had(lock, thread, mode, ident, spot.cell, since) };
    }
    result
}

/// The slow path of [`attempt`]: the thread has tried for a lock that it may have held already. Its
/// entry is not made yet, so the entries say what the thread has held so far.
#[cold]
#[inline(never)]
fn attempt_slow(
    addr: u64,
    thread: &mut MeterThread,
    spot: Spot,
    result: c_int,
    rejects: bool,
) -> c_int {
    match result {
        // Taking a lock again that one holds is no acquisition.
        0 | EOWNERDEAD if thread.recurse(addr) => spot.cell.take_back(),
        0 | EOWNERDEAD => {
            hold::begin(thread, addr, spot, false);
        }
        EBUSY if rejects => spot.cell.reject(),
        _ => spot.cell.take_back(),
    }
    result
}

/// The lock could not be taken at once.
///
/// # Safety
/// The caller's lock.
#[cold]
pub unsafe fn waited_for<L: Counted>(
    lock: *mut L,
    mode: u16,
    site: u64,
    back: Return,
    block: impl FnOnce(*mut L) -> c_int,
) -> c_int {
    // SAFETY: the stub's `site` and `back` are of the call under way.
    let subject = unsafe { subject_of(lock, || back.frame(site)) };
    let Some((thread, ident)) = subject else { return block(lock) };
    let target = Target { addr: lock as u64, ident, mode, site, back, has_lines: false };
    let Some(spot) = spot(thread, &target) else { return block(lock) };
    // SAFETY: the caller promises its lock; a special one is a mutex, as `is_free` asks.
    if unsafe { L::is_special(lock) && is_free(lock) } {
        // SAFETY: the program passed `lock` to this call: it points to its lock.
        let recurs = unsafe { may_recur(lock, thread) };
        spot.cell.begin();
        if recurs {
            return attempt_slow(lock as u64, thread, spot, block(lock), false);
        }
        hold::begin(thread, lock as u64, spot, false);
        let result = block(lock);
        if result != 0 && result != EOWNERDEAD {
            hold::cancel(thread, false);
        }
        return result;
    }
    let owner = match L::owner(lock) {
        word if word.is_null() => Owner::Unknown,
        word => Owner::At(word),
    };
    let contended = Contended { owner, spins: L::SPINS, shared: mode != 0 };
    let result = wait::lock(thread, &target, spot, contended, || block(lock));
    if result == 0 {
        // SAFETY: the caller's lock was just taken, so the thread holds it.
        unsafe { L::had_after_wait(lock, mode) };
    }
    result
}

/// A special mutex is free, by its word, which has the owner's thread id.
///
/// # Safety
/// `lock` points to a mutex.
unsafe fn is_free<L: Lock>(lock: *mut L) -> bool {
    // SAFETY: the caller promises a mutex, of which this is a field of glibc's.
    let word =
        unsafe { lock.cast::<u32>().byte_add(const { mutex::LOCK.always() }).read_volatile() };
    word & libc::FUTEX_TID_MASK == 0
}
