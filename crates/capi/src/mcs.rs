//! The MCS lock, whose callers have no nodes.

use core::ffi::c_int;

use locks::annotate::Flags;
use locks::mcs::RawMcs;
use locks::platform::linux::Linux;

use crate::holds::holds;
use crate::result::done_or;
use crate::tool;

/// An MCS lock: first come, first served; each waiter spins on a word of its own. Not recursive.
#[repr(C)]
pub struct lw_mcs_t {
    /// The lock's own.
    pub opaque: [usize; 2],
}

holds!(lw_mcs_t: RawMcs<Linux>);

/// Makes a free lock of any memory. Not needed where `LW_MCS_INIT` or zeros are. Returns 0.
///
/// # Safety
/// Memory for a lock, which nobody uses as one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_mcs_init(lock: *mut lw_mcs_t) -> c_int {
    // SAFETY: as our caller promises; a zeroed lock is a free one.
    unsafe { lock.write_bytes(0, 1) };
    tool::begin(lock);
    0
}

/// Ends the life of a lock. Nothing but the tool learns of it. Returns 0.
///
/// # Safety
/// A lock that nobody holds or waits for, and nobody uses from here on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_mcs_destroy(lock: *mut lw_mcs_t) -> c_int {
    tool::end(lock);
    0
}

/// Waits for the lock and takes it. Returns 0.
///
/// # Safety
/// A lock, which this thread does not hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_mcs_lock(lock: *mut lw_mcs_t) -> c_int {
    // SAFETY: as our caller promises.
    let raw = unsafe { lw_mcs_t::lock(lock) };
    let wait = || {
        raw.lock();
        true
    };
    tool::lock(lock, Flags::EXCLUSIVE, || raw.try_lock(), wait);
    0
}

/// Takes the lock if it is free. Returns 0, or EBUSY.
///
/// # Safety
/// A lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_mcs_trylock(lock: *mut lw_mcs_t) -> c_int {
    // SAFETY: as our caller promises.
    let raw = unsafe { lw_mcs_t::lock(lock) };
    done_or(libc::EBUSY, tool::try_lock(lock, Flags::EXCLUSIVE, || raw.try_lock()))
}

/// Releases the lock. Returns 0.
///
/// # Safety
/// A lock that this thread holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_mcs_unlock(lock: *mut lw_mcs_t) -> c_int {
    tool::release(lock);
    // SAFETY: as our caller promises.
    unsafe { lw_mcs_t::lock(lock).unlock() };
    0
}
