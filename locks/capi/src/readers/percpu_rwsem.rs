//! The per-CPU reader-writer semaphore.

use core::ffi::c_int;

use locks::percpu_rwsem::RawPercpuRwSem;
use locks::platform::linux::Linux;

use crate::acquire::{self, FairRead, Write};
use crate::holds::holds;
use crate::tool;

/// A per-CPU reader-writer semaphore: reading costs next to nothing, writing much; sleeps. Not
/// recursive, for readers neither. It is at home on a boundary of 64 bytes: see aligned_alloc. Its
/// memory must outlive each call of its functions, not only the last hold.
#[repr(C, align(64))]
pub struct lw_percpu_rwsem_t {
    /// The lock's own.
    pub opaque: [usize; 136],
}

holds!(lw_percpu_rwsem_t: RawPercpuRwSem<Linux>);

/// Makes a free lock of any memory, so aligned. Not needed where `LW_PERCPU_RWSEM_INIT` or zeros
/// are. Returns 0.
///
/// - The caller must do this before any other thread uses the memory, and never for a lock in
///   use: its waiters would be lost.
///
/// # Safety
/// Memory for a lock, which nobody uses as one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_percpu_rwsem_init(lock: *mut lw_percpu_rwsem_t) -> c_int {
    // SAFETY: `lock` points to memory for an lw_percpu_rwsem_t that nobody uses as one, as locks.h
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
pub unsafe extern "C" fn lw_percpu_rwsem_destroy(lock: *mut lw_percpu_rwsem_t) -> c_int {
    tool::destroy(lock)
}

/// Waits for the lock and takes it to read, with other readers. Returns 0.
///
/// - The caller must not hold the lock already, not even to read: a writer may have come in
///   between, and the two would wait for each other.
/// - The caller must not hold a spinning lock: this call may sleep.
/// - A signal handler must not call this: it may have interrupted a holder or a waiter.
///
/// # Safety
/// A lock, which this thread does not hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_percpu_rwsem_down_read(lock: *mut lw_percpu_rwsem_t) -> c_int {
    // SAFETY: `lock` points to an lw_percpu_rwsem_t that the caller initialised and keeps alive, as
    // locks.h requires.
    unsafe { acquire::lock::<FairRead, _>(lock) }
}

/// Takes the lock to read, with other readers, if that needs no waiting. Returns 0, or EBUSY.
///
/// - Any thread may call this: it does not wait. A reader that calls it again must release the
///   lock once more.
///
/// # Safety
/// A lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_percpu_rwsem_trydown_read(lock: *mut lw_percpu_rwsem_t) -> c_int {
    // SAFETY: `lock` points to an lw_percpu_rwsem_t that the caller initialised and keeps alive, as
    // locks.h requires.
    unsafe { acquire::trylock::<FairRead, _>(lock) }
}

/// Releases the lock. Returns 0.
///
/// - Another thread may release the lock for the reader, once for each time the reader took it.
///   After one call too many a writer waits for ever, or enters next to a reader.
/// - The memory must stay until this call has returned, even if another thread has the lock by
///   then.
///
/// # Safety
/// A lock that this thread reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_percpu_rwsem_up_read(lock: *mut lw_percpu_rwsem_t) -> c_int {
    // SAFETY: `lock` points to an initialised lw_percpu_rwsem_t that the calling thread holds, as
    // locks.h requires.
    unsafe { acquire::unlock::<FairRead, _>(lock) }
}

/// Waits for the lock and takes it to write, alone. Returns 0.
///
/// - The caller must not hold the lock already, in either mode: it would wait for ever.
///   lockwright check reports it.
/// - The caller must not hold a spinning lock: this call may sleep.
/// - A signal handler must not call this: it may have interrupted a holder or a waiter.
///
/// # Safety
/// A lock, which this thread does not hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_percpu_rwsem_down_write(lock: *mut lw_percpu_rwsem_t) -> c_int {
    // SAFETY: `lock` points to an lw_percpu_rwsem_t that the caller initialised and keeps alive, as
    // locks.h requires.
    unsafe { acquire::lock::<Write, _>(lock) }
}

/// Takes the lock to write, alone, if that needs no waiting. Returns 0, or EBUSY.
///
/// - Any thread may call this: it does not wait. A holder gets EBUSY.
/// - The caller should not use this often: it delays all readers by a barrier on all CPUs.
///
/// # Safety
/// A lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_percpu_rwsem_trydown_write(lock: *mut lw_percpu_rwsem_t) -> c_int {
    // SAFETY: `lock` points to an lw_percpu_rwsem_t that the caller initialised and keeps alive, as
    // locks.h requires.
    unsafe { acquire::trylock::<Write, _>(lock) }
}

/// Releases the lock. Returns 0.
///
/// - Another thread may release the lock for the writer, once.
/// - The memory must stay until this call has returned, even if another thread has the lock by
///   then.
///
/// # Safety
/// A lock that this thread writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_percpu_rwsem_up_write(lock: *mut lw_percpu_rwsem_t) -> c_int {
    // SAFETY: `lock` points to an initialised lw_percpu_rwsem_t that the calling thread holds, as
    // locks.h requires.
    unsafe { acquire::unlock::<Write, _>(lock) }
}
