//! The bodies of the functions that acquire and release a lock, written once for all locks and
//! modes.

use core::ffi::c_int;

use libc::timespec;
use lock_api::{GuardNoSend, RawMutex, RawRwLock, RawRwLockUpgrade};
use locks::annotate::Flags;

use crate::holds::Holds;
use crate::result::{deadline, done_or};
use crate::tool;

/// A mode in which locks of type `L` are held.
pub trait Mode<L> {
    /// The flags that the tool gets.
    const FLAGS: Flags;

    /// Waits for the lock and takes it.
    fn lock(raw: &L);

    /// Takes the lock if that needs no waiting.
    fn try_lock(raw: &L) -> bool;

    /// Releases the lock.
    ///
    /// # Safety
    /// This thread holds it in this mode.
    unsafe fn unlock(raw: &L);
}

/// The only mode of a lock that one thread holds at a time.
pub struct Exclusive;

/// With other readers, ahead of writers that wait, if only in a signal handler.
pub struct Read;

/// With other readers, behind writers that wait.
pub struct FairRead;

/// As [`FairRead`], and perhaps as the writer later.
pub struct Upgradable;

/// As the only writer, with no readers.
pub struct Write;

macro_rules! modes {
    ($($mode:ident, $raw:ident::$guard:ident, $flags:ident: $lock:ident $try_lock:ident $unlock:ident;)*) => { $(
        impl<L: $raw<$guard = GuardNoSend>> Mode<L> for $mode {
            const FLAGS: Flags = Flags::$flags;

            #[inline(always)]
            fn lock(raw: &L) {
                raw.$lock();
            }

            #[inline(always)]
            fn try_lock(raw: &L) -> bool {
                raw.$try_lock().is_some()
            }

            /// # Safety
            /// The contract is that of `Mode::unlock`.
            #[inline(always)]
            unsafe fn unlock(raw: &L) {
                // SAFETY: by the trait's contract this thread holds `raw` in this mode, which needs
                // no other guard.
                unsafe { raw.$unlock(GuardNoSend::new()) };
            }
        }
    )* };
}

modes! {
    Exclusive, RawMutex::Guard, EXCLUSIVE: lock try_lock unlock;
    Read, RawRwLock::SharedGuard, READ: lock_shared try_lock_shared unlock_shared;
    FairRead, RawRwLock::SharedGuard, FAIR_READ: lock_shared try_lock_shared unlock_shared;
    Upgradable, RawRwLockUpgrade::UpgradableGuard, FAIR_UPGRADABLE_READ: lock_upgradable try_lock_upgradable unlock_upgradable;
    Write, RawRwLock::ExclusiveGuard, EXCLUSIVE: lock_exclusive try_lock_exclusive unlock_exclusive;
}

/// Waits for the lock and takes it. Returns 0.
///
/// # Safety
/// A lock, which this thread does not hold.
#[inline(always)]
pub unsafe fn lock<M: Mode<C::Lock>, C: Holds>(lock: *mut C) -> c_int {
    // SAFETY: by contract `lock` points to a live, initialised lock.
    let raw = unsafe { C::lock(lock) };
    tool::lock_surely(lock, M::FLAGS, || M::try_lock(raw), || M::lock(raw));
    0
}

/// Takes the lock if that needs no waiting. Returns 0, or EBUSY.
///
/// # Safety
/// A lock.
#[inline(always)]
pub unsafe fn trylock<M: Mode<C::Lock>, C: Holds>(lock: *mut C) -> c_int {
    // SAFETY: by contract `lock` points to a live, initialised lock.
    let raw = unsafe { C::lock(lock) };
    done_or(libc::EBUSY, tool::try_lock(lock, M::FLAGS, || M::try_lock(raw)))
}

/// Takes the lock by `lock_until`, which gives up at a time. Returns 0, ETIMEDOUT, or EINVAL for
/// what is no time.
///
/// # Safety
/// A lock, which this thread does not hold; a time or null.
#[inline(always)]
pub unsafe fn timedlock<M: Mode<C::Lock>, C: Holds>(
    lock: *mut C,
    until: *const timespec,
    lock_until: impl FnOnce(&C::Lock, Option<u64>) -> bool,
) -> c_int {
    // SAFETY: by contract `lock` points to a live, initialised lock, and `until` to a time or is
    // null.
    let (raw, deadline) = unsafe { (C::lock(lock), deadline(until)) };
    let deadline = match deadline {
        Ok(deadline) => deadline,
        Err(error) => return error,
    };
    let wait = || lock_until(raw, deadline);
    let taken = tool::lock(lock, M::FLAGS | Flags::TIMED, || M::try_lock(raw), wait);
    done_or(libc::ETIMEDOUT, taken)
}

/// Releases the lock. Returns 0.
///
/// # Safety
/// A lock that this thread holds in this mode.
#[inline(always)]
pub unsafe fn unlock<M: Mode<C::Lock>, C: Holds>(lock: *mut C) -> c_int {
    tool::release(lock);
    // SAFETY: by contract `lock` points to a live lock that this thread holds in this mode.
    unsafe { M::unlock(C::lock(lock)) };
    0
}
