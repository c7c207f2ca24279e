//! The reader-writer semaphore with the kernel's checks (`DEBUG_RWSEMS`).

use core::ffi::c_int;

use libc::timespec;
use locks::annotate::Flags;
use locks::debug::Misuse;
use locks::debug_rwsem::RawDebugRwSem;
use locks::platform::linux::Linux;

use crate::debug::{done, errno};
use crate::holds::{Holds as _, holds};
use crate::result::deadline;
use crate::tool;

/// A reader-writer semaphore that knows its writer and how many readers it has, and whether it is
/// one: its functions refuse what is a misuse of it, and tell which. Zeros are no lock. Its memory
/// must outlive each call of its functions, not only the last hold.
#[repr(C)]
pub struct lw_debug_rwsem_t {
    /// The lock's own.
    pub opaque: [usize; 9],
}

holds!(lw_debug_rwsem_t: RawDebugRwSem<Linux>);

type Raw = RawDebugRwSem<Linux>;

/// Makes a free lock of any memory: always needed, as zeros are none. Returns 0.
///
/// - The caller must do this before any other thread uses the memory, and never for a lock in
///   use: its waiters would be lost.
///
/// # Safety
/// Memory for a lock, which nobody uses as one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_rwsem_init(lock: *mut lw_debug_rwsem_t) -> c_int {
    // SAFETY: `lock` points to memory that nobody uses as a lock, as locks.h requires; the tool
    // learns of it.
    let done = unsafe { tool::init(lock) };
    // SAFETY: `lock` points to memory that nobody uses as a lock, as locks.h requires; of the
    // lock's size and alignment, as it holds one.
    unsafe { lock.cast::<Raw>().write(Raw::new()) };
    // SAFETY: the line above put a lock there.
    unsafe { lw_debug_rwsem_t::lock(lock) }.bind();
    done
}

/// Ends the life of a lock. Returns 0, EBUSY if somebody has it, EINVAL if it is none.
///
/// - A lock that was destroyed must not be used, except by init: each call returns EINVAL.
///
/// # Safety
/// Memory of a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_rwsem_destroy(lock: *mut lw_debug_rwsem_t) -> c_int {
    // SAFETY: `lock` points to memory of an lw_debug_rwsem_t that the caller keeps alive, as
    // locks.h requires.
    match unsafe { lw_debug_rwsem_t::lock(lock) }.destroy() {
        Ok(()) => tool::destroy(lock),
        Err(misuse) => errno(misuse),
    }
}

/// Takes the lock by `wait`, which may give up.
///
/// # Safety
/// Memory of a lock.
unsafe fn take(
    lock: *mut lw_debug_rwsem_t,
    flags: Flags,
    attempt: fn(&Raw) -> Result<bool, Misuse>,
    wait: impl FnOnce(&Raw) -> Result<bool, Misuse>,
) -> c_int {
    // SAFETY: `lock` points to memory of an lw_debug_rwsem_t that the caller keeps alive, as
    // locks.h requires.
    let raw = unsafe { lw_debug_rwsem_t::lock(lock) };
    let mut result = Ok(true);
    let wait = || {
        result = wait(raw);
        result == Ok(true)
    };
    tool::lock(lock, flags, || attempt(raw) == Ok(true), wait);
    outcome(result, libc::ETIMEDOUT)
}

/// # Safety
/// Memory of a lock.
unsafe fn try_take(
    lock: *mut lw_debug_rwsem_t,
    flags: Flags,
    attempt: fn(&Raw) -> Result<bool, Misuse>,
) -> c_int {
    // SAFETY: `lock` points to memory of an lw_debug_rwsem_t that the caller keeps alive, as
    // locks.h requires.
    let raw = unsafe { lw_debug_rwsem_t::lock(lock) };
    let mut result = Ok(false);
    tool::try_lock(lock, flags, || {
        result = attempt(raw);
        result == Ok(true)
    });
    outcome(result, libc::EBUSY)
}

/// 0 where the lock was taken, `otherwise` where it was not, or the error of a misuse.
fn outcome(result: Result<bool, Misuse>, otherwise: c_int) -> c_int {
    match result {
        Ok(true) => 0,
        Ok(false) => otherwise,
        Err(misuse) => errno(misuse),
    }
}

/// Waits for the lock and takes it to read, with other readers. Returns 0, EDEADLK if this thread writes,
/// EINVAL if it is none.
///
/// - The caller must not go on as if it had the lock after an error.
/// - A reader must not call this again: a writer may have come in between, and the two would wait
///   for each other. Readers are only counted, so this is not refused.
/// - The caller must not hold a spinning lock: this call may sleep.
/// - A signal handler must not call this: it may have interrupted a holder or a waiter.
///
/// # Safety
/// Memory of a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_rwsem_down_read(lock: *mut lw_debug_rwsem_t) -> c_int {
    // SAFETY: `lock` points to memory of an lw_debug_rwsem_t that the caller keeps alive, as
    // locks.h requires.
    unsafe { take(lock, Flags::FAIR_READ, Raw::try_down_read, |raw| raw.down_read_until(None)) }
}

/// Takes the lock to read, with other readers, if that needs no waiting. Returns 0, EBUSY, or EINVAL if
/// it is none.
///
/// - Any thread may call this: it does not wait. A reader that calls it again must release the
///   lock once more.
///
/// # Safety
/// Memory of a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_rwsem_trydown_read(lock: *mut lw_debug_rwsem_t) -> c_int {
    // SAFETY: `lock` points to memory of an lw_debug_rwsem_t that the caller keeps alive, as
    // locks.h requires.
    unsafe { try_take(lock, Flags::FAIR_READ, Raw::try_down_read) }
}

/// Takes the lock to read, with other readers, or gives up at a time of CLOCK_MONOTONIC; null: never.
/// Returns 0; ETIMEDOUT, if that has come; EDEADLK if this thread writes; EINVAL if it is no lock, or
/// the time's nanoseconds are not below 1,000,000,000.
///
/// - The rules of lw_debug_rwsem_down_read apply.
/// - The lock is taken if it is free, even if the time has passed.
///
/// # Safety
/// Memory of a lock; a time or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_rwsem_timeddown_read(
    lock: *mut lw_debug_rwsem_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: `until` is null or points to a time, as locks.h requires.
    let deadline = match unsafe { deadline(until) } {
        Ok(deadline) => deadline,
        Err(error) => return error,
    };
    let wait = |raw: &Raw| raw.down_read_until(deadline);
    // SAFETY: `lock` points to memory of an lw_debug_rwsem_t that the caller keeps alive, as
    // locks.h requires.
    unsafe { take(lock, Flags::FAIR_READ | Flags::TIMED, Raw::try_down_read, wait) }
}

/// Releases the lock. Returns 0, EALREADY if nobody has it, EPERM if a writer has, EINVAL if it
/// is none; then it stays as it is. Readers are a number: that another thread's hold is released is
/// not told.
///
/// - A thread that does not read must not call this: it would release the hold of another reader,
///   which is not refused.
/// - The memory must stay until this call has returned, even if another thread has the lock by
///   then.
///
/// # Safety
/// Memory of a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_rwsem_up_read(lock: *mut lw_debug_rwsem_t) -> c_int {
    // SAFETY: `lock` points to memory of an lw_debug_rwsem_t that the caller keeps alive, as
    // locks.h requires.
    let raw = unsafe { lw_debug_rwsem_t::lock(lock) };
    if raw.is_read() {
        tool::release(lock);
    }
    done(raw.up_read())
}

/// Waits for the lock and takes it to write, alone. Returns 0, EDEADLK if this thread writes,
/// EINVAL if it is none.
///
/// - The caller must not go on as if it had the lock after an error.
/// - A reader must not call this: it would wait for ever. Readers are only counted, so this is
///   not refused.
/// - The caller must not hold a spinning lock: this call may sleep.
/// - A signal handler must not call this: it may have interrupted a holder or a waiter.
///
/// # Safety
/// Memory of a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_rwsem_down_write(lock: *mut lw_debug_rwsem_t) -> c_int {
    // SAFETY: `lock` points to memory of an lw_debug_rwsem_t that the caller keeps alive, as
    // locks.h requires.
    unsafe { take(lock, Flags::EXCLUSIVE, Raw::try_down_write, |raw| raw.down_write_until(None)) }
}

/// Takes the lock to write, alone, if that needs no waiting. Returns 0, EBUSY, or EINVAL if
/// it is none.
///
/// - Any thread may call this: it does not wait. A holder gets EBUSY.
///
/// # Safety
/// Memory of a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_rwsem_trydown_write(lock: *mut lw_debug_rwsem_t) -> c_int {
    // SAFETY: `lock` points to memory of an lw_debug_rwsem_t that the caller keeps alive, as
    // locks.h requires.
    unsafe { try_take(lock, Flags::EXCLUSIVE, Raw::try_down_write) }
}

/// Takes the lock to write, alone, or gives up at a time of CLOCK_MONOTONIC; null: never.
/// Returns 0; ETIMEDOUT, if that has come; EDEADLK if this thread writes; EINVAL if it is no lock, or
/// the time's nanoseconds are not below 1,000,000,000.
///
/// - The rules of lw_debug_rwsem_down_write apply.
/// - The lock is taken if it is free, even if the time has passed.
///
/// # Safety
/// Memory of a lock; a time or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_rwsem_timeddown_write(
    lock: *mut lw_debug_rwsem_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: `until` is null or points to a time, as locks.h requires.
    let deadline = match unsafe { deadline(until) } {
        Ok(deadline) => deadline,
        Err(error) => return error,
    };
    let wait = |raw: &Raw| raw.down_write_until(deadline);
    // SAFETY: `lock` points to memory of an lw_debug_rwsem_t that the caller keeps alive, as
    // locks.h requires.
    unsafe { take(lock, Flags::EXCLUSIVE | Flags::TIMED, Raw::try_down_write, wait) }
}

/// Releases the lock. Returns 0, EALREADY if nobody has it, EPERM if readers or another thread
/// have, EINVAL if it is none; then it stays as it is.
///
/// - The caller must not call this again after an error: the lock is not the caller's.
/// - The memory must stay until this call has returned, even if another thread has the lock by
///   then.
///
/// # Safety
/// Memory of a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_rwsem_up_write(lock: *mut lw_debug_rwsem_t) -> c_int {
    // SAFETY: `lock` points to memory of an lw_debug_rwsem_t that the caller keeps alive, as
    // locks.h requires.
    let raw = unsafe { lw_debug_rwsem_t::lock(lock) };
    if raw.is_owned() {
        tool::release(lock);
    }
    done(raw.up_write())
}

/// Makes a writer a reader, without letting another writer in between. Returns 0, EALREADY if nobody
/// has it, EPERM if readers or another thread have, EINVAL if it is none; then it stays as it is.
///
/// - Only the writer may call this. It must release the lock by lw_debug_rwsem_up_read.
///
/// # Safety
/// Memory of a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_debug_rwsem_downgrade(lock: *mut lw_debug_rwsem_t) -> c_int {
    // SAFETY: `lock` points to memory of an lw_debug_rwsem_t that the caller keeps alive, as
    // locks.h requires.
    let raw = unsafe { lw_debug_rwsem_t::lock(lock) };
    if raw.is_owned() {
        tool::downgrade(lock);
    }
    done(raw.downgrade_write())
}
