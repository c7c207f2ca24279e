//! The bodies of the functions of locks with checks, written once for all of them.

use core::ffi::c_int;

use locks::annotate::Flags;
use locks::debug::{Misuse, RawDebug};
use locks::exclusive::Exclusive;
use locks::platform::linux::Linux;

use crate::holds::Holds;
use crate::tool;

/// The error of a misuse.
pub fn errno(misuse: Misuse) -> c_int {
    match misuse {
        Misuse::BadMagic => libc::EINVAL,
        Misuse::Recursion | Misuse::CpuRecursion => libc::EDEADLK,
        Misuse::AlreadyUnlocked => libc::EALREADY,
        Misuse::WrongOwner | Misuse::WrongCpu => libc::EPERM,
        Misuse::DestroyedWhileHeld => libc::EBUSY,
    }
}

pub fn done(result: Result<(), Misuse>) -> c_int {
    result.err().map_or(0, errno)
}

/// Makes a free lock of any memory. Returns 0.
///
/// # Safety
/// Memory for a lock, which nobody uses as one.
pub unsafe fn init<L: Exclusive + 'static, C: Holds<Lock = RawDebug<Linux, L>>>(
    lock: *mut C,
) -> c_int {
    // SAFETY: by contract `lock` points to memory that nobody uses as a lock; the tool learns of
    // it.
    let done = unsafe { tool::init(lock) };
    // SAFETY: by contract `lock` points to memory that nobody uses as a lock; of the lock's size
    // and alignment, as it holds one.
    unsafe { lock.cast::<C::Lock>().write(RawDebug::new(L::new())) };
    // SAFETY: the line above put a lock there.
    unsafe { C::lock(lock) }.bind();
    done
}

/// Ends the life of a lock. Returns 0, EBUSY if somebody holds it, EINVAL if it is none.
///
/// # Safety
/// Memory of a lock.
pub unsafe fn destroy<L: Exclusive + 'static, C: Holds<Lock = RawDebug<Linux, L>>>(
    lock: *mut C,
) -> c_int {
    // SAFETY: by contract `lock` points to live memory of a lock, and zeros there are a lock that
    // refuses use.
    match unsafe { C::lock(lock) }.destroy() {
        Ok(()) => tool::destroy(lock),
        Err(misuse) => errno(misuse),
    }
}

/// Waits for the lock and takes it. Returns 0, EDEADLK if this thread holds it, EINVAL if it is
/// none.
///
/// # Safety
/// Memory of a lock.
pub unsafe fn lock<L: Exclusive + 'static, C: Holds<Lock = RawDebug<Linux, L>>>(
    lock: *mut C,
) -> c_int {
    let wait = |raw: &L| {
        raw.lock();
        true
    };
    // SAFETY: by contract `lock` points to live memory of a lock, and zeros there are a lock that
    // refuses use.
    unsafe { lock_by(lock, Flags::EXCLUSIVE, wait) }
}

/// Takes the lock by `wait`, which may give up and says so. Returns 0 also then, EDEADLK if this
/// thread holds it, EINVAL if it is none.
///
/// # Safety
/// Memory of a lock.
pub unsafe fn lock_by<L: Exclusive + 'static, C: Holds<Lock = RawDebug<Linux, L>>>(
    lock: *mut C,
    flags: Flags,
    wait: impl FnOnce(&L) -> bool,
) -> c_int {
    // SAFETY: by contract `lock` points to live memory of a lock, and zeros there are a lock that
    // refuses use.
    let raw = unsafe { C::lock(lock) };
    let mut result = Ok(());
    let wait = || match raw.lock_by(wait) {
        Ok(taken) => taken,
        Err(misuse) => {
            result = Err(misuse);
            false
        }
    };
    tool::lock(lock, flags, || raw.try_lock() == Ok(true), wait);
    done(result)
}

/// Takes the lock if nobody has it. Returns 0, EBUSY, or EINVAL if it is none.
///
/// # Safety
/// Memory of a lock.
pub unsafe fn trylock<L: Exclusive + 'static, C: Holds<Lock = RawDebug<Linux, L>>>(
    lock: *mut C,
) -> c_int {
    // SAFETY: by contract `lock` points to live memory of a lock, and zeros there are a lock that
    // refuses use.
    let raw = unsafe { C::lock(lock) };
    let mut result = Ok(false);
    tool::try_lock(lock, Flags::EXCLUSIVE, || {
        result = raw.try_lock();
        result == Ok(true)
    });
    match result {
        Ok(true) => 0,
        Ok(false) => libc::EBUSY,
        Err(misuse) => errno(misuse),
    }
}

/// Releases the lock. Returns 0, EALREADY if nobody holds it, EPERM if another thread does, EINVAL
/// if it is none.
///
/// # Safety
/// Memory of a lock.
pub unsafe fn unlock<L: Exclusive + 'static, C: Holds<Lock = RawDebug<Linux, L>>>(
    lock: *mut C,
) -> c_int {
    // SAFETY: by contract `lock` points to live memory of a lock, and zeros there are a lock that
    // refuses use.
    let raw = unsafe { C::lock(lock) };
    if raw.is_owned() {
        tool::release(lock);
    }
    done(raw.unlock())
}
