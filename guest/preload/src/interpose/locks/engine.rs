//! The engine that watches an acquisition: lockdep, lockmeter, or both. The wrappers of what takes
//! a lock are written once, over this.

use core::ffi::c_int;

use lockwright_ledger::rows::mode;

use crate::callsite::Return;
use crate::interpose::both_engines;
use crate::lockdep::acquire::Watched;
use crate::lockmeter::acquire::{self, Counted};

/// A lock that any engine watches.
pub trait Lock: Watched + Counted {}

impl<L: Watched + Counted> Lock for L {}

/// An acquisition, as a wrapper is called for it.
pub struct Call<L> {
    pub lock: *mut L,
    /// Bits of [`mode::READ`] and [`mode::TIMED`].
    pub mode: u16,
    /// As the stub passes them.
    pub site: u64,
    pub back: Return,
}

/// An engine, or both.
pub trait Engine {
    /// Takes a lock, by `block` where it has to be waited for, and at once where `is_valid` says
    /// that the C library refuses the call whatever state the lock is in. `by_lockdep` is the
    /// wrapper for lockdep of the same call.
    ///
    /// # Safety
    /// The caller's lock.
    unsafe fn acquire<L: Lock>(
        call: Call<L>,
        is_valid: impl FnOnce() -> bool,
        block: impl FnOnce(*mut L) -> c_int,
        by_lockdep: impl FnOnce() -> c_int,
    ) -> c_int;

    /// Tries for a lock. `by_lockdep` is as above.
    ///
    /// # Safety
    /// The caller's lock.
    unsafe fn try_acquire<L: Lock>(call: Call<L>, by_lockdep: impl FnOnce() -> c_int) -> c_int;
}

/// lockdep alone.
pub enum Lockdep {}

impl Engine for Lockdep {
    #[inline(always)]
    unsafe fn acquire<L: Lock>(
        Call { lock, mode, site, back }: Call<L>,
        is_valid: impl FnOnce() -> bool,
        block: impl FnOnce(*mut L) -> c_int,
        _by_lockdep: impl FnOnce() -> c_int,
    ) -> c_int {
        match is_valid() {
            // SAFETY: the caller promises its lock, and the stub passed `site` and `back`, as
            // `Watched::acquire` asks.
            true => unsafe { <L as Watched>::acquire(lock, mode, site, back, block) },
            false => block(lock),
        }
    }

    #[inline(always)]
    unsafe fn try_acquire<L: Lock>(
        Call { lock, mode, site, back }: Call<L>,
        _by_lockdep: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: the caller promises its lock, and the stub passed `site` and `back`, as
        // `Watched::try_acquire` asks.
        unsafe { <L as Watched>::try_acquire(lock, mode, site, back) }
    }
}

/// lockmeter alone.
pub enum Lockmeter {}

impl Engine for Lockmeter {
    #[inline(always)]
    unsafe fn acquire<L: Lock>(
        Call { lock, mode, site, back }: Call<L>,
        is_valid: impl FnOnce() -> bool,
        block: impl FnOnce(*mut L) -> c_int,
        _by_lockdep: impl FnOnce() -> c_int,
    ) -> c_int {
        match is_valid() {
            // SAFETY: the caller promises its lock, and the stub passed `site` and `back`, as
            // lockmeter's `acquire` asks.
            true => unsafe { acquire::acquire(lock, mode & mode::READ, site, back, block) },
            false => block(lock),
        }
    }

    #[inline(always)]
    unsafe fn try_acquire<L: Lock>(
        Call { lock, mode, site, back }: Call<L>,
        _by_lockdep: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: the caller promises its lock; the stub passed `site` and `back`, as lockmeter's
        // `try_acquire` asks.
        unsafe { acquire::try_acquire(lock, mode, site, back) }
    }
}

/// lockmeter, with lockdep's wrapper instead of the C library's function.
pub enum Both {}

impl Engine for Both {
    #[inline(always)]
    unsafe fn acquire<L: Lock>(
        Call { lock, mode, site, back }: Call<L>,
        is_valid: impl FnOnce() -> bool,
        block: impl FnOnce(*mut L) -> c_int,
        by_lockdep: impl FnOnce() -> c_int,
    ) -> c_int {
        match is_valid() {
            true => {
                let mode = mode & mode::READ;
                // SAFETY: the caller promises its lock, and `by_lockdep` is the wrapper of the same
                // call.
                unsafe { both_engines::acquire(lock, mode, site, back, false, by_lockdep) }
            }
            false => block(lock),
        }
    }

    #[inline(always)]
    unsafe fn try_acquire<L: Lock>(
        Call { lock, mode, site, back }: Call<L>,
        by_lockdep: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: the caller promises its lock, and `by_lockdep` is the wrapper of the same call.
        unsafe { both_engines::acquire(lock, mode, site, back, true, by_lockdep) }
    }
}
