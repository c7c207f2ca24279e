//! The queued reader-writer spinlock.

use core::ffi::c_int;

use locks::platform::linux::Linux;
use locks::qrwlock::RawQrwLock;

use crate::acquire::{self, Read, Write};
use crate::holds::holds;
use crate::irq;
use crate::tool;

/// A queued reader-writer spinlock: many readers or one writer; first come, first served; spins.
/// Not recursive.
#[repr(C)]
pub struct lw_qrwlock_t {
    /// The lock's own.
    pub opaque: [u32; 2],
}

holds!(lw_qrwlock_t: RawQrwLock<Linux>);

/// Makes a free lock of any memory. Not needed where `LW_QRWLOCK_INIT` or zeros are. Returns 0.
///
/// - The caller must do this before any other thread uses the memory, and never for a lock in
///   use: its waiters would be lost.
///
/// # Safety
/// Memory for a lock, which nobody uses as one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_qrwlock_init(lock: *mut lw_qrwlock_t) -> c_int {
    // SAFETY: `lock` points to memory for an lw_qrwlock_t that nobody uses as one, as locks.h
    // requires.
    unsafe { tool::init(lock) }
}

/// Ends the life of a lock. Nothing but the tool learns of it. Returns 0.
///
/// - No thread may hold, await or use the lock: nothing checks that.
///
/// # Safety
/// A lock that nobody holds or waits for, and nobody uses from here on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_qrwlock_destroy(lock: *mut lw_qrwlock_t) -> c_int {
    tool::destroy(lock)
}

/// Waits for the lock and takes it to read, with other readers. Returns 0.
///
/// - The caller must not hold the lock already, not even to read: a writer may have come in
///   between, and the two would spin for ever.
/// - The holder must not sleep: the waiters spin meanwhile.
/// - A signal handler may call this only if every other user, readers too, takes the lock by an
///   irqsave function.
///
/// # Safety
/// A lock, which this thread does not hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_qrwlock_read_lock(lock: *mut lw_qrwlock_t) -> c_int {
    // SAFETY: `lock` points to an lw_qrwlock_t that the caller initialised and keeps alive, as
    // locks.h requires.
    unsafe { acquire::lock::<Read, _>(lock) }
}

/// Takes the lock to read, with other readers, if that needs no waiting. Returns 0, or EBUSY.
///
/// - Any thread may call this: it does not wait. A reader that calls it again must release the
///   lock once more.
///
/// # Safety
/// A lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_qrwlock_read_trylock(lock: *mut lw_qrwlock_t) -> c_int {
    // SAFETY: `lock` points to an lw_qrwlock_t that the caller initialised and keeps alive, as
    // locks.h requires.
    unsafe { acquire::trylock::<Read, _>(lock) }
}

/// Releases the lock. Returns 0.
///
/// - The reader must release the lock once for each time it took it. One call too many lets a
///   writer in next to a reader.
///
/// # Safety
/// A lock that this thread reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_qrwlock_read_unlock(lock: *mut lw_qrwlock_t) -> c_int {
    // SAFETY: `lock` points to an initialised lw_qrwlock_t that the calling thread holds, as
    // locks.h requires.
    unsafe { acquire::unlock::<Read, _>(lock) }
}

/// Waits for the lock and takes it to write, alone. Returns 0.
///
/// - The caller must not hold the lock already, in either mode: it would spin for ever.
///   lockwright check reports it.
/// - The holder must not sleep: the waiters spin meanwhile.
/// - A signal handler may call this only if every other user, readers too, takes the lock by an
///   irqsave function.
///
/// # Safety
/// A lock, which this thread does not hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_qrwlock_write_lock(lock: *mut lw_qrwlock_t) -> c_int {
    // SAFETY: `lock` points to an lw_qrwlock_t that the caller initialised and keeps alive, as
    // locks.h requires.
    unsafe { acquire::lock::<Write, _>(lock) }
}

/// Takes the lock to write, alone, if that needs no waiting. Returns 0, or EBUSY.
///
/// - Any thread may call this: it does not wait. A holder gets EBUSY.
///
/// # Safety
/// A lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_qrwlock_write_trylock(lock: *mut lw_qrwlock_t) -> c_int {
    // SAFETY: `lock` points to an lw_qrwlock_t that the caller initialised and keeps alive, as
    // locks.h requires.
    unsafe { acquire::trylock::<Write, _>(lock) }
}

/// Releases the lock. Returns 0.
///
/// - Only the writer may release the lock, once. After any other call the lock is in an undefined
///   state.
///
/// # Safety
/// A lock that this thread writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_qrwlock_write_unlock(lock: *mut lw_qrwlock_t) -> c_int {
    // SAFETY: `lock` points to an initialised lw_qrwlock_t that the calling thread holds, as
    // locks.h requires.
    unsafe { acquire::unlock::<Write, _>(lock) }
}

/// Blocks all signals in this thread, and says in `flags` which were; then waits for the lock and takes it to
/// read, with other readers. Returns 0.
///
/// - The rules of lw_qrwlock_read_lock apply. Signal handlers may call this.
/// - The caller must release the lock by the irqrestore function with the same flags, and several
///   locks in the reverse order.
/// - The holder must not cause a fault (SIGSEGV and the like): it would end the process, even
///   with a handler.
///
/// # Safety
/// A lock, which this thread does not hold; memory for the flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_qrwlock_read_lock_irqsave(
    lock: *mut lw_qrwlock_t,
    flags: *mut u64,
) -> c_int {
    // SAFETY: `lock` points to a live, initialised lw_qrwlock_t, and `flags` to room for them, as
    // locks.h requires.
    unsafe { irq::irqsave(flags, || lw_qrwlock_read_lock(lock)) }
}

/// As `lw_qrwlock_read_lock_irqsave`, if that needs no waiting. Returns 0; or EBUSY, and the mask is as
/// it was.
///
/// - The rules of lw_qrwlock_read_lock_irqsave apply. It does not wait.
///
/// # Safety
/// A lock; memory for the flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_qrwlock_read_trylock_irqsave(
    lock: *mut lw_qrwlock_t,
    flags: *mut u64,
) -> c_int {
    // SAFETY: `lock` points to a live, initialised lw_qrwlock_t, and `flags` to room for them, as
    // locks.h requires.
    unsafe { irq::irqsave(flags, || lw_qrwlock_read_trylock(lock)) }
}

/// Releases the lock, then lets in the signals that came meanwhile. Returns 0.
///
/// - The rules of lw_qrwlock_read_unlock apply.
/// - The flags must be those of the same hold: others leave signals blocked, or let them in
///   early.
///
/// # Safety
/// A lock that this thread has taken to read so, and the flags that say so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_qrwlock_read_unlock_irqrestore(
    lock: *mut lw_qrwlock_t,
    flags: u64,
) -> c_int {
    // SAFETY: `lock` points to an lw_qrwlock_t that this thread took with these flags, as locks.h
    // requires.
    irq::irqrestore(flags, || unsafe { lw_qrwlock_read_unlock(lock) })
}

/// Blocks all signals in this thread, and says in `flags` which were; then waits for the lock and takes it to
/// write, alone. Returns 0.
///
/// - The rules of lw_qrwlock_write_lock apply. Signal handlers may call this.
/// - The caller must release the lock by the irqrestore function with the same flags, and several
///   locks in the reverse order.
/// - The holder must not cause a fault (SIGSEGV and the like): it would end the process, even
///   with a handler.
///
/// # Safety
/// A lock, which this thread does not hold; memory for the flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_qrwlock_write_lock_irqsave(
    lock: *mut lw_qrwlock_t,
    flags: *mut u64,
) -> c_int {
    // SAFETY: `lock` points to a live, initialised lw_qrwlock_t, and `flags` to room for them, as
    // locks.h requires.
    unsafe { irq::irqsave(flags, || lw_qrwlock_write_lock(lock)) }
}

/// As `lw_qrwlock_write_lock_irqsave`, if that needs no waiting. Returns 0; or EBUSY, and the mask is as
/// it was.
///
/// - The rules of lw_qrwlock_write_lock_irqsave apply. It does not wait.
///
/// # Safety
/// A lock; memory for the flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_qrwlock_write_trylock_irqsave(
    lock: *mut lw_qrwlock_t,
    flags: *mut u64,
) -> c_int {
    // SAFETY: `lock` points to a live, initialised lw_qrwlock_t, and `flags` to room for them, as
    // locks.h requires.
    unsafe { irq::irqsave(flags, || lw_qrwlock_write_trylock(lock)) }
}

/// Releases the lock, then lets in the signals that came meanwhile. Returns 0.
///
/// - The rules of lw_qrwlock_write_unlock apply.
/// - The flags must be those of the same hold: others leave signals blocked, or let them in
///   early.
///
/// # Safety
/// A lock that this thread has taken to write so, and the flags that say so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_qrwlock_write_unlock_irqrestore(
    lock: *mut lw_qrwlock_t,
    flags: u64,
) -> c_int {
    // SAFETY: `lock` points to an lw_qrwlock_t that this thread took with these flags, as locks.h
    // requires.
    irq::irqrestore(flags, || unsafe { lw_qrwlock_write_unlock(lock) })
}
