//! The ticket lock.

use core::ffi::c_int;

use locks::platform::linux::Linux;
use locks::ticket::RawTicket;

use crate::acquire::{self, Exclusive};
use crate::holds::holds;
use crate::irq;
use crate::tool;

/// A ticket lock: first come, first served; spins. Not recursive; for fewer than 65,536 threads at
/// once.
#[repr(C)]
pub struct lw_ticket_t {
    /// The lock's own.
    pub opaque: [u32; 1],
}

holds!(lw_ticket_t: RawTicket<Linux>);

/// Makes a free lock of any memory. Not needed where `LW_TICKET_INIT` or zeros are. Returns 0.
///
/// # Safety
/// Memory for a lock, which nobody uses as one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_ticket_init(lock: *mut lw_ticket_t) -> c_int {
    // SAFETY: `lock` points to memory for an lw_ticket_t that nobody uses as one, as locks.h
    // requires.
    unsafe { tool::init(lock) }
}

/// Ends the life of a lock. Nothing but the tool learns of it. Returns 0.
///
/// # Safety
/// A lock that nobody holds or waits for, and nobody uses from here on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_ticket_destroy(lock: *mut lw_ticket_t) -> c_int {
    tool::destroy(lock)
}

/// Waits for the lock and takes it. Returns 0.
///
/// # Safety
/// A lock, which this thread does not hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_ticket_lock(lock: *mut lw_ticket_t) -> c_int {
    // SAFETY: `lock` points to an lw_ticket_t that the caller initialised and keeps alive, as
    // locks.h requires.
    unsafe { acquire::lock::<Exclusive, _>(lock) }
}

/// Takes the lock if it is free. Returns 0, or EBUSY.
///
/// # Safety
/// A lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_ticket_trylock(lock: *mut lw_ticket_t) -> c_int {
    // SAFETY: `lock` points to an lw_ticket_t that the caller initialised and keeps alive, as
    // locks.h requires.
    unsafe { acquire::trylock::<Exclusive, _>(lock) }
}

/// Releases the lock. Returns 0.
///
/// # Safety
/// A lock that this thread holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_ticket_unlock(lock: *mut lw_ticket_t) -> c_int {
    // SAFETY: `lock` points to an initialised lw_ticket_t that the calling thread holds, as locks.h
    // requires.
    unsafe { acquire::unlock::<Exclusive, _>(lock) }
}

/// Blocks all signals in this thread, and says in `flags` which were; then waits for the lock and takes it. Returns 0.
///
/// # Safety
/// A lock, which this thread does not hold; memory for the flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_ticket_lock_irqsave(lock: *mut lw_ticket_t, flags: *mut u64) -> c_int {
    // SAFETY: `lock` points to a live, initialised lw_ticket_t, and `flags` to room for them, as
    // locks.h requires.
    unsafe { irq::irqsave(flags, || lw_ticket_lock(lock)) }
}

/// As `lw_ticket_lock_irqsave`, if the lock is free. Returns 0; or EBUSY, and the mask is as it was.
///
/// # Safety
/// A lock; memory for the flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_ticket_trylock_irqsave(
    lock: *mut lw_ticket_t,
    flags: *mut u64,
) -> c_int {
    // SAFETY: `lock` points to a live, initialised lw_ticket_t, and `flags` to room for them, as
    // locks.h requires.
    unsafe { irq::irqsave(flags, || lw_ticket_trylock(lock)) }
}

/// Releases the lock, then lets in the signals that came meanwhile. Returns 0.
///
/// # Safety
/// A lock that this thread has taken so, and the flags that say so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_ticket_unlock_irqrestore(lock: *mut lw_ticket_t, flags: u64) -> c_int {
    // SAFETY: `lock` points to an lw_ticket_t that this thread took with these flags, as locks.h
    // requires.
    irq::irqrestore(flags, || unsafe { lw_ticket_unlock(lock) })
}
