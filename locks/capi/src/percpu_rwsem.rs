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
/// # Safety
/// A lock that nobody holds or waits for, and nobody uses from here on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_percpu_rwsem_destroy(lock: *mut lw_percpu_rwsem_t) -> c_int {
    tool::destroy(lock)
}

/// Waits for the lock and takes it to read, with other readers. Returns 0.
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
/// # Safety
/// A lock that this thread writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_percpu_rwsem_up_write(lock: *mut lw_percpu_rwsem_t) -> c_int {
    // SAFETY: `lock` points to an initialised lw_percpu_rwsem_t that the calling thread holds, as
    // locks.h requires.
    unsafe { acquire::unlock::<Write, _>(lock) }
}
