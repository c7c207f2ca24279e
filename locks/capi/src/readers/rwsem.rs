//! The reader-writer semaphore.

use core::ffi::c_int;

use libc::timespec;
use locks::platform::linux::Linux;
use locks::rwsem::RawRwSem;

use crate::acquire::{self, FairRead, Write};
use crate::holds::{Holds as _, holds};
use crate::tool;

/// A reader-writer semaphore: many readers or one writer; sleeps, and spins instead as long as a
/// writer runs; nobody starves. Not recursive, for readers neither. Its memory must outlive each
/// call of its functions, not only the last hold.
#[repr(C)]
pub struct lw_rwsem_t {
    /// The lock's own.
    pub opaque: [usize; 6],
}

holds!(lw_rwsem_t: RawRwSem<Linux>);

/// Makes a free lock of any memory. Not needed where `LW_RWSEM_INIT` or zeros are. Returns 0.
///
/// - The caller must do this before any other thread uses the memory, and never for a lock in
///   use: its waiters would be lost.
///
/// # Safety
/// Memory for a lock, which nobody uses as one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rwsem_init(lock: *mut lw_rwsem_t) -> c_int {
    // SAFETY: `lock` points to memory for an lw_rwsem_t that nobody uses as one, as locks.h
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
pub unsafe extern "C" fn lw_rwsem_destroy(lock: *mut lw_rwsem_t) -> c_int {
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
pub unsafe extern "C" fn lw_rwsem_down_read(lock: *mut lw_rwsem_t) -> c_int {
    // SAFETY: `lock` points to an lw_rwsem_t that the caller initialised and keeps alive, as
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
pub unsafe extern "C" fn lw_rwsem_trydown_read(lock: *mut lw_rwsem_t) -> c_int {
    // SAFETY: `lock` points to an lw_rwsem_t that the caller initialised and keeps alive, as
    // locks.h requires.
    unsafe { acquire::trylock::<FairRead, _>(lock) }
}

/// Takes the lock to read, with other readers, or gives up at a time of CLOCK_MONOTONIC; null:
/// never. Returns 0; ETIMEDOUT, if that has come; EINVAL, if its nanoseconds are not below
/// 1,000,000,000.
///
/// - The rules of lw_rwsem_down_read apply.
/// - The lock is taken if it is free, even if the time has passed.
///
/// # Safety
/// A lock, which this thread does not hold; a time or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rwsem_timeddown_read(
    lock: *mut lw_rwsem_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: `lock` points to a live, initialised lw_rwsem_t, and `until` to a time or is null, as
    // locks.h requires.
    unsafe { acquire::timedlock::<FairRead, _>(lock, until, RawRwSem::down_read_until) }
}

/// Releases the lock. Returns 0.
///
/// - The reader must release the lock once for each time it took it. One call too many lets a
///   writer in next to a reader.
/// - The memory must stay until this call has returned, even if another thread has the lock by
///   then.
///
/// # Safety
/// A lock that this thread reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rwsem_up_read(lock: *mut lw_rwsem_t) -> c_int {
    // SAFETY: `lock` points to an initialised lw_rwsem_t that the calling thread holds, as locks.h
    // requires.
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
pub unsafe extern "C" fn lw_rwsem_down_write(lock: *mut lw_rwsem_t) -> c_int {
    // SAFETY: `lock` points to an lw_rwsem_t that the caller initialised and keeps alive, as
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
pub unsafe extern "C" fn lw_rwsem_trydown_write(lock: *mut lw_rwsem_t) -> c_int {
    // SAFETY: `lock` points to an lw_rwsem_t that the caller initialised and keeps alive, as
    // locks.h requires.
    unsafe { acquire::trylock::<Write, _>(lock) }
}

/// Takes the lock to write, alone, or gives up at a time of CLOCK_MONOTONIC; null: never. Returns
/// 0; ETIMEDOUT, if that has come; EINVAL, if its nanoseconds are not below 1,000,000,000.
///
/// - The rules of lw_rwsem_down_write apply.
/// - The lock is taken if it is free, even if the time has passed.
///
/// # Safety
/// A lock, which this thread does not hold; a time or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rwsem_timeddown_write(
    lock: *mut lw_rwsem_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: `lock` points to a live, initialised lw_rwsem_t, and `until` to a time or is null, as
    // locks.h requires.
    unsafe { acquire::timedlock::<Write, _>(lock, until, RawRwSem::down_write_until) }
}

/// Releases the lock. Returns 0.
///
/// - Only the writer may release the lock, once. After any other call the lock is in an undefined
///   state.
/// - The memory must stay until this call has returned, even if another thread has the lock by
///   then.
///
/// # Safety
/// A lock that this thread writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rwsem_up_write(lock: *mut lw_rwsem_t) -> c_int {
    // SAFETY: `lock` points to an initialised lw_rwsem_t that the calling thread holds, as locks.h
    // requires.
    unsafe { acquire::unlock::<Write, _>(lock) }
}

/// Makes a writer a reader, without letting another writer in between. Returns 0.
///
/// - Only the writer may call this. It must release the lock by lw_rwsem_up_read.
///
/// # Safety
/// A lock that this thread writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rwsem_downgrade(lock: *mut lw_rwsem_t) -> c_int {
    tool::downgrade(lock);
    // SAFETY: `lock` points to an initialised lw_rwsem_t that the calling thread holds, as locks.h
    // requires.
    unsafe { lw_rwsem_t::lock(lock).downgrade_write() };
    0
}
