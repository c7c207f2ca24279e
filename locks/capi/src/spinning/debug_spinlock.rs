//! The queued spinlock with the kernel's checks (`DEBUG_SPINLOCK`).

use core::ffi::c_int;

use locks::debug::RawDebug;
use locks::platform::linux::Linux;
use locks::qspinlock::RawQspinlock;

use crate::debug;
use crate::holds::holds;
use crate::irq;

/// A queued spinlock that knows its owner, and whether it is one: its functions refuse what is a
/// misuse of it, and tell which. Zeros are no lock.
#[repr(C)]
pub struct lw_debug_spinlock_t {
    /// The lock's own.
    pub opaque: [usize; 3],
}

holds!(lw_debug_spinlock_t: RawDebug<Linux, RawQspinlock<Linux>>);

/// Makes a free lock of any memory: always needed, as zeros are none. Returns 0.
///
/// - The caller must do this before any other thread uses the memory, and never for a lock in
///   use: its waiters would be lost.
///
/// # Safety
/// Memory for a lock, which nobody uses as one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_spinlock_init(lock: *mut lw_debug_spinlock_t) -> c_int {
    // SAFETY: `lock` points to memory for an lw_debug_spinlock_t that nobody uses as one, as
    // locks.h requires.
    unsafe { debug::init(lock) }
}

/// Ends the life of a lock. Returns 0, EBUSY if somebody holds it, EINVAL if it is none.
///
/// - A lock that was destroyed must not be used, except by init: each call returns EINVAL.
///
/// # Safety
/// Memory of a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_spinlock_destroy(lock: *mut lw_debug_spinlock_t) -> c_int {
    // SAFETY: `lock` points to memory of an lw_debug_spinlock_t that the caller keeps alive, as
    // locks.h requires.
    unsafe { debug::destroy(lock) }
}

/// Waits for the lock and takes it. Returns 0, EDEADLK if this thread holds it, EINVAL if it is
/// none.
///
/// - The caller must not go on as if it had the lock after an error.
/// - The holder must not sleep: the waiters spin meanwhile.
/// - A signal handler may call this only if every other user takes the lock by an irqsave
///   function.
///
/// # Safety
/// Memory of a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_spinlock_lock(lock: *mut lw_debug_spinlock_t) -> c_int {
    // SAFETY: `lock` points to memory of an lw_debug_spinlock_t that the caller keeps alive, as
    // locks.h requires.
    unsafe { debug::lock(lock) }
}

/// Takes the lock if nobody has it. Returns 0, EBUSY, or EINVAL if it is none.
///
/// - Any thread may call this: it does not wait. The holder gets EBUSY, not EDEADLK.
///
/// # Safety
/// Memory of a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_spinlock_trylock(lock: *mut lw_debug_spinlock_t) -> c_int {
    // SAFETY: `lock` points to memory of an lw_debug_spinlock_t that the caller keeps alive, as
    // locks.h requires.
    unsafe { debug::trylock(lock) }
}

/// Releases the lock. Returns 0, EALREADY if nobody holds it, EPERM if another thread does, EINVAL
/// if it is none; then it stays as it is.
///
/// - The caller must not call this again after an error: the lock is not the caller's.
///
/// # Safety
/// Memory of a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_spinlock_unlock(lock: *mut lw_debug_spinlock_t) -> c_int {
    // SAFETY: `lock` points to memory of an lw_debug_spinlock_t that the caller keeps alive, as
    // locks.h requires.
    unsafe { debug::unlock(lock) }
}

/// Blocks all signals in this thread, and says in `flags` which were; then waits for the lock and takes it. Returns 0; or an error as
/// `lw_debug_spinlock_lock`, and the mask is as it was.
///
/// - The rules of lw_debug_spinlock_lock apply. Signal handlers may call this.
/// - The caller must release the lock by the irqrestore function with the same flags, and several
///   locks in the reverse order.
/// - The holder must not cause a fault (SIGSEGV and the like): it would end the process, even
///   with a handler.
///
/// # Safety
/// Memory of a lock; memory for the flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_spinlock_lock_irqsave(
    lock: *mut lw_debug_spinlock_t,
    flags: *mut u64,
) -> c_int {
    // SAFETY: `lock` points to a live, initialised lw_debug_spinlock_t, and `flags` to room for
    // them, as locks.h requires.
    unsafe { irq::irqsave(flags, || lw_debug_spinlock_lock(lock)) }
}

/// As `lw_debug_spinlock_lock_irqsave`, if nobody has the lock. Returns 0; EBUSY, or EINVAL if it is none, and
/// the mask is as it was.
///
/// - The rules of lw_debug_spinlock_lock_irqsave apply. It does not wait.
///
/// # Safety
/// Memory of a lock; memory for the flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_spinlock_trylock_irqsave(
    lock: *mut lw_debug_spinlock_t,
    flags: *mut u64,
) -> c_int {
    // SAFETY: `lock` points to a live, initialised lw_debug_spinlock_t, and `flags` to room for
    // them, as locks.h requires.
    unsafe { irq::irqsave(flags, || lw_debug_spinlock_trylock(lock)) }
}

/// Releases the lock, then lets in the signals that came meanwhile. Returns 0; or an
/// error as `lw_debug_spinlock_unlock`, and both stay as they are.
///
/// - The rules of lw_debug_spinlock_unlock apply.
/// - The flags must be those of the same hold: others leave signals blocked, or let them in
///   early.
///
/// # Safety
/// Memory of a lock that this thread has taken so, and the flags that say so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_spinlock_unlock_irqrestore(
    lock: *mut lw_debug_spinlock_t,
    flags: u64,
) -> c_int {
    // SAFETY: `lock` points to an lw_debug_spinlock_t that this thread took with these flags, as
    // locks.h requires.
    irq::irqrestore(flags, || unsafe { lw_debug_spinlock_unlock(lock) })
}
