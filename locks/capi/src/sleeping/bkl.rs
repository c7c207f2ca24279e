//! The big kernel lock, over a mutex.

use core::cell::Cell;
use core::ffi::{c_int, c_void};

use locks::annotate::Flags;
use locks::bkl::RawBkl;
use locks::mutex::RawMutex;
use locks::platform::linux::Linux;

use crate::holds::{Holds as _, holds};
use crate::result::done_or;
use crate::tool;

/// A big kernel lock: recursive, and given away at sleeps. There can be several.
#[repr(C)]
pub struct lw_bkl_t {
    /// The lock's own.
    pub opaque: [usize; 7],
}

holds!(lw_bkl_t: RawBkl<Linux, RawMutex<Linux>>);

/// Makes a free lock of any memory. Not needed where `LW_BKL_INIT` or zeros are. Returns 0.
///
/// - The caller must do this before any other thread uses the memory, and never for a lock in
///   use: its waiters would be lost.
///
/// # Safety
/// Memory for a lock, which nobody uses as one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_bkl_init(lock: *mut lw_bkl_t) -> c_int {
    // SAFETY: `lock` points to memory for an lw_bkl_t that nobody uses as one, as locks.h requires.
    unsafe { tool::init(lock) }
}

/// Ends the life of a lock. Nothing but the tool learns of it. Returns 0.
///
/// - No thread may hold, await or use the lock: nothing checks that.
///
/// # Safety
/// A lock that nobody holds or waits for, and nobody uses from here on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_bkl_destroy(lock: *mut lw_bkl_t) -> c_int {
    tool::destroy(lock)
}

/// Waits for the lock and takes it, once more if this thread has it. Returns 0.
///
/// - The owner may call this again, and must release the lock as often.
/// - The caller must not hold a spinning lock: this call may sleep.
/// - A signal handler must not call this: it shares the hold of its thread.
///
/// # Safety
/// A lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_bkl_lock(lock: *mut lw_bkl_t) -> c_int {
    // SAFETY: `lock` points to an lw_bkl_t that the caller initialised and keeps alive, as locks.h
    // requires.
    let raw = unsafe { lw_bkl_t::lock(lock) };
    tool::lock_surely(lock, Flags::RECURSIVE, || raw.try_lock(), || raw.lock());
    0
}

/// Takes the lock if that needs no waiting, once more if this thread has it. Returns 0, or EBUSY.
///
/// - Any thread may call this: it does not wait. The owner always gets 0.
///
/// # Safety
/// A lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_bkl_trylock(lock: *mut lw_bkl_t) -> c_int {
    // SAFETY: `lock` points to an lw_bkl_t that the caller initialised and keeps alive, as locks.h
    // requires.
    let raw = unsafe { lw_bkl_t::lock(lock) };
    done_or(libc::EBUSY, tool::try_lock(lock, Flags::RECURSIVE, || raw.try_lock()))
}

/// Releases the lock, once. Returns 0.
///
/// - Only the owner may call this, once for each time it took the lock. Any other call is
///   undefined.
///
/// # Safety
/// A lock that this thread holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_bkl_unlock(lock: *mut lw_bkl_t) -> c_int {
    tool::release(lock);
    // SAFETY: `lock` points to an initialised lw_bkl_t that the calling thread holds, as locks.h
    // requires.
    unsafe { lw_bkl_t::lock(lock).unlock() };
    0
}

/// Sleeps: calls `sleep` with `argument`, without the lock if this thread has it, and has it again
/// afterwards as deep as before. Returns 0.
///
/// - The caller must not rely on data from before: another thread may change it during sleep.
/// - sleep must not leave by longjmp or an exception: the lock would not be taken again.
///
/// # Safety
/// A lock; a function that returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_bkl_schedule(
    lock: *mut lw_bkl_t,
    sleep: unsafe extern "C" fn(argument: *mut c_void),
    argument: *mut c_void,
) -> c_int {
    // SAFETY: `lock` points to an lw_bkl_t that the caller initialised and keeps alive, as locks.h
    // requires.
    let raw = unsafe { lw_bkl_t::lock(lock) };
    let times = raw.depth().map_or(0, |depth| depth + 1);
    for _ in 0..times {
        tool::release(lock);
    }
    let released = Cell::new(Some(raw.release()));
    // SAFETY: the caller passes a function that may be called with this argument and returns.
    unsafe { sleep(argument) };
    if times > 0 {
        let try_again = || {
            let result = released.take().map_or(Ok(()), |released| raw.try_reacquire(released));
            result.map_err(|still| released.set(Some(still))).is_ok()
        };
        let again = || released.take().into_iter().for_each(|released| raw.reacquire(released));
        tool::lock_surely(lock, Flags::RECURSIVE, try_again, again);
        // The rest of the depth came with it.
        tool::lock_deeper(lock, Flags::RECURSIVE, times - 1);
    }
    0
}

/// How often this thread has taken the lock and not yet released it.
///
/// - Any thread may call this. Only the calling thread changes the answer.
///
/// # Safety
/// A lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_bkl_depth(lock: *mut lw_bkl_t) -> c_int {
    // SAFETY: `lock` points to an lw_bkl_t that the caller initialised and keeps alive, as locks.h
    // requires.
    let depth = unsafe { lw_bkl_t::lock(lock) }.depth();
    depth.map_or(0, |depth| depth as c_int + 1)
}
