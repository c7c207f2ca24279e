//! The unfair spinlock that Linux uses where there is no paravirtual one.

use core::ffi::c_int;

use locks::platform::linux::Linux;
use locks::pvqspinlock::{RawPvQspinlock, Unfair};

use crate::acquire::{self, Exclusive};
use crate::holds::holds;
use crate::irq;
use crate::tool;

/// A spinlock without a queue: the first thread to see it free takes it, and any thread may starve.
/// Linux has it under hypervisors that cannot halt virtual CPUs. For comparing. Not recursive.
#[repr(C)]
pub struct lw_pvqspinlock_unfair_t {
    /// The lock's own.
    pub opaque: [u32; 1],
}

holds!(lw_pvqspinlock_unfair_t: RawPvQspinlock<Linux, Unfair>);

/// Makes a free lock of any memory. Not needed where `LW_PVQSPINLOCK_UNFAIR_INIT` or zeros are. Returns 0.
///
/// - The caller must do this before any other thread uses the memory, and never for a lock in
///   use: its waiters would be lost.
///
/// # Safety
/// Memory for a lock, which nobody uses as one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_pvqspinlock_unfair_init(lock: *mut lw_pvqspinlock_unfair_t) -> c_int {
    // SAFETY: `lock` points to memory for an lw_pvqspinlock_unfair_t that nobody uses as one, as
    // locks.h requires.
    unsafe { tool::init(lock) }
}

/// Ends the life of a lock. Nothing but the tool learns of it. Returns 0.
///
/// - No thread may hold, await or use the lock: nothing checks that.
///
/// # Safety
/// A lock that nobody holds or waits for, and nobody uses from here on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_pvqspinlock_unfair_destroy(
    lock: *mut lw_pvqspinlock_unfair_t,
) -> c_int {
    tool::destroy(lock)
}

/// Waits for the lock and takes it. Returns 0.
///
/// - The caller must not hold the lock already: it would spin for ever. lockwright check reports
///   it.
/// - The holder must not sleep: the waiters spin meanwhile.
/// - A signal handler may call this only if every other user takes the lock by an irqsave
///   function.
///
/// # Safety
/// A lock, which this thread does not hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_pvqspinlock_unfair_lock(lock: *mut lw_pvqspinlock_unfair_t) -> c_int {
    // SAFETY: `lock` points to an lw_pvqspinlock_unfair_t that the caller initialised and keeps
    // alive, as locks.h requires.
    unsafe { acquire::lock::<Exclusive, _>(lock) }
}

/// Takes the lock if it is free. Returns 0, or EBUSY.
///
/// - Any thread may call this: it does not wait. The holder gets EBUSY.
///
/// # Safety
/// A lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_pvqspinlock_unfair_trylock(
    lock: *mut lw_pvqspinlock_unfair_t,
) -> c_int {
    // SAFETY: `lock` points to an lw_pvqspinlock_unfair_t that the caller initialised and keeps
    // alive, as locks.h requires.
    unsafe { acquire::trylock::<Exclusive, _>(lock) }
}

/// Releases the lock. Returns 0.
///
/// - Only the thread that took the lock may release it, once. After any other call two threads
///   can be inside at once.
/// - The caller may free the lock afterwards, if no other thread will use it.
///
/// # Safety
/// A lock that this thread holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_pvqspinlock_unfair_unlock(lock: *mut lw_pvqspinlock_unfair_t) -> c_int {
    // SAFETY: `lock` points to an initialised lw_pvqspinlock_unfair_t that the calling thread
    // holds, as locks.h requires.
    unsafe { acquire::unlock::<Exclusive, _>(lock) }
}

/// Blocks all signals in this thread, and says in `flags` which were; then waits for the lock and takes it. Returns 0.
///
/// - The rules of lw_pvqspinlock_unfair_lock apply. Signal handlers may call this.
/// - The caller must release the lock by the irqrestore function with the same flags, and several
///   locks in the reverse order.
/// - The holder must not cause a fault (SIGSEGV and the like): it would end the process, even
///   with a handler.
///
/// # Safety
/// A lock, which this thread does not hold; memory for the flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_pvqspinlock_unfair_lock_irqsave(
    lock: *mut lw_pvqspinlock_unfair_t,
    flags: *mut u64,
) -> c_int {
    // SAFETY: `lock` points to a live, initialised lw_pvqspinlock_unfair_t, and `flags` to room for
    // them, as locks.h requires.
    unsafe { irq::irqsave(flags, || lw_pvqspinlock_unfair_lock(lock)) }
}

/// As `lw_pvqspinlock_unfair_lock_irqsave`, if the lock is free. Returns 0; or EBUSY, and the mask is as it was.
///
/// - The rules of lw_pvqspinlock_unfair_lock_irqsave apply. It does not wait.
///
/// # Safety
/// A lock; memory for the flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_pvqspinlock_unfair_trylock_irqsave(
    lock: *mut lw_pvqspinlock_unfair_t,
    flags: *mut u64,
) -> c_int {
    // SAFETY: `lock` points to a live, initialised lw_pvqspinlock_unfair_t, and `flags` to room for
    // them, as locks.h requires.
    unsafe { irq::irqsave(flags, || lw_pvqspinlock_unfair_trylock(lock)) }
}

/// Releases the lock, then lets in the signals that came meanwhile. Returns 0.
///
/// - The rules of lw_pvqspinlock_unfair_unlock apply.
/// - The flags must be those of the same hold: others leave signals blocked, or let them in
///   early.
///
/// # Safety
/// A lock that this thread has taken so, and the flags that say so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_pvqspinlock_unfair_unlock_irqrestore(
    lock: *mut lw_pvqspinlock_unfair_t,
    flags: u64,
) -> c_int {
    // SAFETY: `lock` points to an lw_pvqspinlock_unfair_t that this thread took with these flags,
    // as locks.h requires.
    irq::irqrestore(flags, || unsafe { lw_pvqspinlock_unfair_unlock(lock) })
}
