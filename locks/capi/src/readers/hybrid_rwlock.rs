//! The hybrid reader-writer lock.

use core::ffi::c_int;

use libc::timespec;
use locks::annotate::Flags;
use locks::hybrid_rwlock::RawHybridRwLock;
use locks::platform::linux::Linux;

use crate::acquire::{self, FairRead, Upgradable, Write};
use crate::holds::{Holds as _, holds};
use crate::result::done_or;
use crate::tool;

/// A reader-writer lock of eight bytes for more threads than CPUs: many readers or one writer, and
/// one reader that may become the writer. A waiter spins for a moment and sleeps; no thread
/// starves. Not recursive, except for readers that ask for it. The last thread to release it may
/// free it.
#[repr(C)]
pub struct lw_hybrid_rwlock_t {
    /// The lock's own.
    pub opaque: [u32; 2],
}

holds!(lw_hybrid_rwlock_t: RawHybridRwLock<Linux>);

/// Makes a free lock of any memory. Not needed where `LW_HYBRID_RWLOCK_INIT` or zeros are. Returns 0.
///
/// - The caller must do this before any other thread uses the memory, and never for a lock in
///   use: its waiters would be lost.
///
/// # Safety
/// Memory for a lock, which nobody uses as one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_hybrid_rwlock_init(lock: *mut lw_hybrid_rwlock_t) -> c_int {
    // SAFETY: `lock` points to memory for an lw_hybrid_rwlock_t that nobody uses as one, as locks.h
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
pub unsafe extern "C" fn lw_hybrid_rwlock_destroy(lock: *mut lw_hybrid_rwlock_t) -> c_int {
    tool::destroy(lock)
}

/// Waits for the lock and takes it to read, with other readers. Returns 0.
///
/// - The caller must not hold the lock already: a writer may have come in between, and the two
///   would wait for each other. A reader calls lw_hybrid_rwlock_read_lock_recursive.
/// - The caller must not hold a spinning lock: this call may sleep.
/// - A signal handler must not call this: it may have interrupted a holder or a waiter.
///
/// # Safety
/// A lock, which this thread does not hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_hybrid_rwlock_read_lock(lock: *mut lw_hybrid_rwlock_t) -> c_int {
    // SAFETY: `lock` points to an lw_hybrid_rwlock_t that the caller initialised and keeps alive,
    // as locks.h requires.
    unsafe { acquire::lock::<FairRead, _>(lock) }
}

/// As `lw_hybrid_rwlock_read_lock`, also for a thread that reads already: it goes ahead of writers
/// that wait for it. Returns 0.
///
/// - A writer must not call this: it would wait for ever.
/// - The caller should not use this for all reading: it keeps writers that wait outside.
/// - The caller must not hold a spinning lock: this call may sleep.
/// - A signal handler must not call this: it may have interrupted a holder or a waiter.
///
/// # Safety
/// A lock, which this thread does not hold but to read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_hybrid_rwlock_read_lock_recursive(
    lock: *mut lw_hybrid_rwlock_t,
) -> c_int {
    // SAFETY: `lock` points to an lw_hybrid_rwlock_t that the caller initialised and keeps alive,
    // as locks.h requires.
    let raw = unsafe { lw_hybrid_rwlock_t::lock(lock) };
    let (try_lock, wait) = (|| raw.try_lock_shared_recursive(), || raw.lock_shared_recursive());
    tool::lock_surely(lock, Flags::READ | Flags::RECURSIVE, try_lock, wait);
    0
}

/// Takes the lock to read, with other readers, if that needs no waiting. Returns 0, or EBUSY.
///
/// - Any thread may call this: it does not wait. A reader that calls it again must release the
///   lock once more.
///
/// # Safety
/// A lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_hybrid_rwlock_read_trylock(lock: *mut lw_hybrid_rwlock_t) -> c_int {
    // SAFETY: `lock` points to an lw_hybrid_rwlock_t that the caller initialised and keeps alive,
    // as locks.h requires.
    unsafe { acquire::trylock::<FairRead, _>(lock) }
}

/// Takes the lock to read, with other readers, or gives up at a time of CLOCK_MONOTONIC; null:
/// never. Returns 0; ETIMEDOUT, if that has come; EINVAL, if its nanoseconds are not below
/// 1,000,000,000.
///
/// - The rules of lw_hybrid_rwlock_read_lock apply.
/// - The lock is taken if it is free, even if the time has passed.
///
/// # Safety
/// A lock, which this thread does not hold; a time or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_hybrid_rwlock_read_timedlock(
    lock: *mut lw_hybrid_rwlock_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: `lock` points to a live, initialised lw_hybrid_rwlock_t, and `until` to a time or is
    // null, as locks.h requires.
    unsafe { acquire::timedlock::<FairRead, _>(lock, until, RawHybridRwLock::lock_shared_until) }
}

/// Releases the lock. Returns 0.
///
/// - The reader must release the lock once for each time it took it. One call too many lets a
///   writer in next to a reader.
/// - The caller may free the lock afterwards, if no other thread will use it.
///
/// # Safety
/// A lock that this thread reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_hybrid_rwlock_read_unlock(lock: *mut lw_hybrid_rwlock_t) -> c_int {
    // SAFETY: `lock` points to an initialised lw_hybrid_rwlock_t that the calling thread holds, as
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
pub unsafe extern "C" fn lw_hybrid_rwlock_write_lock(lock: *mut lw_hybrid_rwlock_t) -> c_int {
    // SAFETY: `lock` points to an lw_hybrid_rwlock_t that the caller initialised and keeps alive,
    // as locks.h requires.
    unsafe { acquire::lock::<Write, _>(lock) }
}

/// Takes the lock to write, alone, if that needs no waiting. Returns 0, or EBUSY.
///
/// - Any thread may call this: it does not wait. A holder gets EBUSY.
///
/// # Safety
/// A lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_hybrid_rwlock_write_trylock(lock: *mut lw_hybrid_rwlock_t) -> c_int {
    // SAFETY: `lock` points to an lw_hybrid_rwlock_t that the caller initialised and keeps alive,
    // as locks.h requires.
    unsafe { acquire::trylock::<Write, _>(lock) }
}

/// Takes the lock to write, alone, or gives up at a time of CLOCK_MONOTONIC; null: never. Returns
/// 0; ETIMEDOUT, if that has come; EINVAL, if its nanoseconds are not below 1,000,000,000.
///
/// - The rules of lw_hybrid_rwlock_write_lock apply.
/// - The lock is taken if it is free, even if the time has passed.
///
/// # Safety
/// A lock, which this thread does not hold; a time or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_hybrid_rwlock_write_timedlock(
    lock: *mut lw_hybrid_rwlock_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: `lock` points to a live, initialised lw_hybrid_rwlock_t, and `until` to a time or is
    // null, as locks.h requires.
    unsafe { acquire::timedlock::<Write, _>(lock, until, RawHybridRwLock::lock_exclusive_until) }
}

/// Releases the lock. Returns 0.
///
/// - Only the writer may release the lock, once. After any other call the lock is in an undefined
///   state.
/// - The caller may free the lock afterwards, if no other thread will use it.
///
/// # Safety
/// A lock that this thread writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_hybrid_rwlock_write_unlock(lock: *mut lw_hybrid_rwlock_t) -> c_int {
    // SAFETY: `lock` points to an initialised lw_hybrid_rwlock_t that the calling thread holds, as
    // locks.h requires.
    unsafe { acquire::unlock::<Write, _>(lock) }
}

/// Makes a writer a reader, without letting another writer in between. Returns 0.
///
/// - Only the writer may call this. It must release the lock by lw_hybrid_rwlock_read_unlock.
///
/// # Safety
/// A lock that this thread writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_hybrid_rwlock_downgrade(lock: *mut lw_hybrid_rwlock_t) -> c_int {
    tool::downgrade(lock);
    // SAFETY: `lock` points to an initialised lw_hybrid_rwlock_t that the calling thread holds, as
    // locks.h requires.
    unsafe { lw_hybrid_rwlock_t::lock(lock).downgrade() };
    0
}

/// Waits for the lock and takes it to read, with other readers, perhaps to write later: nobody else
/// may read so or write. Returns 0.
///
/// - The caller must not hold the lock already, in any mode. The writer and the upgradable reader
///   would wait for ever, and so would a reader for which a writer waits.
/// - The caller must not hold a spinning lock: this call may sleep.
/// - A signal handler must not call this: it may have interrupted a holder or a waiter.
///
/// # Safety
/// A lock, which this thread does not hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_hybrid_rwlock_upgradable_lock(lock: *mut lw_hybrid_rwlock_t) -> c_int {
    // SAFETY: `lock` points to an lw_hybrid_rwlock_t that the caller initialised and keeps alive,
    // as locks.h requires.
    unsafe { acquire::lock::<Upgradable, _>(lock) }
}

/// As `lw_hybrid_rwlock_upgradable_lock`, if that needs no waiting. Returns 0, or EBUSY.
///
/// - Any thread may call this: it does not wait. The writer and the upgradable reader get EBUSY.
///
/// # Safety
/// A lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_hybrid_rwlock_upgradable_trylock(
    lock: *mut lw_hybrid_rwlock_t,
) -> c_int {
    // SAFETY: `lock` points to an lw_hybrid_rwlock_t that the caller initialised and keeps alive,
    // as locks.h requires.
    unsafe { acquire::trylock::<Upgradable, _>(lock) }
}

/// Releases the lock. Returns 0.
///
/// - Only the upgradable reader may release the lock so, once.
/// - The caller may free the lock afterwards, if no other thread will use it.
///
/// # Safety
/// A lock that this thread has by `lw_hybrid_rwlock_upgradable_lock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_hybrid_rwlock_upgradable_unlock(
    lock: *mut lw_hybrid_rwlock_t,
) -> c_int {
    // SAFETY: `lock` points to an initialised lw_hybrid_rwlock_t that the calling thread holds, as
    // locks.h requires.
    unsafe { acquire::unlock::<Upgradable, _>(lock) }
}

/// Makes an upgradable reader a writer, without letting another writer in between; waits for the
/// other readers to leave. Returns 0.
///
/// - The caller must not read the lock besides: it would wait for itself for ever.
/// - The caller must release the lock by lw_hybrid_rwlock_write_unlock.
/// - The caller must not hold a spinning lock: this call may sleep.
/// - A signal handler must not call this: it may have interrupted a holder or a waiter.
///
/// # Safety
/// A lock that this thread has by `lw_hybrid_rwlock_upgradable_lock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_hybrid_rwlock_upgrade(lock: *mut lw_hybrid_rwlock_t) -> c_int {
    // SAFETY: `lock` points to an lw_hybrid_rwlock_t that this thread reads upgradably, as locks.h
    // requires.
    let raw = unsafe { lw_hybrid_rwlock_t::lock(lock) };
    tool::release(lock);
    // SAFETY: this thread reads `raw` upgradably; if the one does nothing, the other does it.
    let (try_upgrade, upgrade) = (|| unsafe { raw.try_upgrade() }, || unsafe { raw.upgrade() });
    tool::lock_surely(lock, Flags::EXCLUSIVE, try_upgrade, upgrade);
    0
}

/// As `lw_hybrid_rwlock_upgrade`, if nobody else reads. Returns 0, or EBUSY: it is an upgradable
/// reader's still.
///
/// - After 0 the caller must release the lock by lw_hybrid_rwlock_write_unlock, after EBUSY by
///   lw_hybrid_rwlock_upgradable_unlock.
///
/// # Safety
/// A lock that this thread has by `lw_hybrid_rwlock_upgradable_lock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_hybrid_rwlock_tryupgrade(lock: *mut lw_hybrid_rwlock_t) -> c_int {
    // SAFETY: `lock` points to an lw_hybrid_rwlock_t that this thread reads upgradably, as locks.h
    // requires.
    let upgraded = unsafe { lw_hybrid_rwlock_t::lock(lock).try_upgrade() };
    if upgraded {
        tool::becomes(lock, Flags::EXCLUSIVE);
    }
    done_or(libc::EBUSY, upgraded)
}

/// Makes a writer an upgradable reader, without letting another writer in between. Returns 0.
///
/// - Only the writer may call this. It must release the lock by
///   lw_hybrid_rwlock_upgradable_unlock.
///
/// # Safety
/// A lock that this thread writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_hybrid_rwlock_downgrade_to_upgradable(
    lock: *mut lw_hybrid_rwlock_t,
) -> c_int {
    tool::becomes(lock, Flags::FAIR_UPGRADABLE_READ);
    // SAFETY: `lock` points to an initialised lw_hybrid_rwlock_t that the calling thread holds, as
    // locks.h requires.
    unsafe { lw_hybrid_rwlock_t::lock(lock).downgrade_to_upgradable() };
    0
}
