//! Qt 5's QMutex and QReadWriteLock, and waits that give them up, whose functions are not inlined. Those of a
//! QBasicMutex are, and so are Qt 6's.

use core::ffi::{c_int, c_ulong, c_void};

use super::steps::{self, Call};
use crate::callsite::Return;
use crate::lock_id::by_address::flag;

pub type Mutex = *mut c_void;
pub type RwLock = *mut c_void;
pub type Cond = *mut c_void;

next_functions! {
    _ZNK11QBasicMutex11isRecursiveEv(m: Mutex) -> bool;
    _ZN6QMutex4lockEv(m: Mutex) -> ();
    _ZN6QMutex7tryLockEi(m: Mutex, ms: c_int) -> bool;
    _ZN6QMutex6unlockEv(m: Mutex) -> ();
    _ZN6QMutexD1Ev(m: Mutex) -> ();
    _ZN6QMutexD2Ev(m: Mutex) -> ();
    _ZN14QReadWriteLock11lockForReadEv(l: RwLock) -> ();
    _ZN14QReadWriteLock14tryLockForReadEv(l: RwLock) -> bool;
    _ZN14QReadWriteLock14tryLockForReadEi(l: RwLock, ms: c_int) -> bool;
    _ZN14QReadWriteLock12lockForWriteEv(l: RwLock) -> ();
    _ZN14QReadWriteLock15tryLockForWriteEv(l: RwLock) -> bool;
    _ZN14QReadWriteLock15tryLockForWriteEi(l: RwLock, ms: c_int) -> bool;
    _ZN14QReadWriteLock6unlockEv(l: RwLock) -> ();
    _ZN14QReadWriteLockD1Ev(l: RwLock) -> ();
    _ZN14QReadWriteLockD2Ev(l: RwLock) -> ();
    _ZN14QWaitCondition4waitEP6QMutexm(c: Cond, m: Mutex, ms: c_ulong) -> bool;
    _ZN14QWaitCondition4waitEP14QReadWriteLockm(c: Cond, l: RwLock, ms: c_ulong) -> bool;
    _ZN14QWaitCondition4waitEP6QMutex14QDeadlineTimer(c: Cond, m: Mutex, time: u64, more: u64) -> bool;
    _ZN14QWaitCondition4waitEP14QReadWriteLock14QDeadlineTimer(c: Cond, l: RwLock, time: u64, more: u64) -> bool;
}

/// Its holder takes it again, and may.
fn recurs(m: Mutex) -> u32 {
    // SAFETY: the thread holds the program's mutex, so it is there.
    match steps::is_held(m as u64) && unsafe { next::_ZNK11QBasicMutex11isRecursiveEv(m) } {
        true => flag::RECURSIVE,
        false => 0,
    }
}

/// A holder reads it again.
fn reads(l: RwLock) -> u32 {
    // Whether it may be is not asked: then it waits, and no more is known.
    flag::READ | if steps::is_held(l as u64) { flag::RECURSIVE } else { 0 }
}

/// `QBasicMutex::isRecursive`: asks only, and is in the table for others here to call.
///
/// # Safety
/// The arguments keep the contract of `QBasicMutex::isRecursive`.
pub unsafe extern "C-unwind" fn is_recursive(m: Mutex, _site: u64) -> bool {
    // SAFETY: Qt's function gets the program's own `m` unchanged, as without us.
    unsafe { next::_ZNK11QBasicMutex11isRecursiveEv(m) }
}

/// `QMutex::lock`.
///
/// # Safety
/// The arguments keep the contract of `QMutex::lock`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn lock(m: Mutex, site: u64, back: Return) {
    let call = Call { lock: m as u64, flags: recurs(m), site, back };
    // SAFETY: the program passed `m` to `QMutex::lock`, which asks of it what `tryLock(0)` asks.
    let attempt = || unsafe { next::_ZN6QMutex7tryLockEi(m, 0) };
    // SAFETY: Qt's function gets the program's own `m` unchanged, as without us.
    steps::take(call, attempt, || unsafe { next::_ZN6QMutex4lockEv(m) });
}

/// `QMutex::tryLock(int)`: of a negative time it is `lock`.
///
/// # Safety
/// The arguments keep the contract of `QMutex::tryLock(int)`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn try_lock(m: Mutex, ms: c_int, site: u64, back: Return) -> bool {
    let call = Call { lock: m as u64, flags: recurs(m), site, back };
    // SAFETY: Qt's function gets the program's own `m` and `ms` unchanged, as without us.
    steps::take_within(call, ms, |ms| unsafe { next::_ZN6QMutex7tryLockEi(m, ms) })
}

/// `QMutex::unlock`.
///
/// # Safety
/// The arguments keep the contract of `QMutex::unlock`; the stub passes `site`.
pub unsafe extern "C-unwind" fn unlock(m: Mutex, site: u64) {
    steps::release(m as u64, site);
    // SAFETY: Qt's function gets the program's own `m` unchanged, as without us.
    unsafe { next::_ZN6QMutex6unlockEv(m) };
}

/// `QReadWriteLock::lockForRead`.
///
/// # Safety
/// The arguments keep the contract of `QReadWriteLock::lockForRead`; the stub passes `site` and
/// `back`.
pub unsafe extern "C-unwind" fn read(l: RwLock, site: u64, back: Return) {
    let call = Call { lock: l as u64, flags: reads(l), site, back };
    // SAFETY: the program passed `l` to `lockForRead`, which asks of it what `tryLockForRead` asks.
    let attempt = || unsafe { next::_ZN14QReadWriteLock14tryLockForReadEv(l) };
    // SAFETY: Qt's function gets the program's own `l` unchanged, as without us.
    steps::take(call, attempt, || unsafe { next::_ZN14QReadWriteLock11lockForReadEv(l) });
}

/// `QReadWriteLock::tryLockForRead`.
///
/// # Safety
/// The arguments keep the contract of `QReadWriteLock::tryLockForRead`; the stub passes `site` and
/// `back`.
pub unsafe extern "C-unwind" fn try_read(l: RwLock, site: u64, back: Return) -> bool {
    let flags = reads(l);
    // SAFETY: Qt's function gets the program's own `l` unchanged, as without us.
    let had = unsafe { next::_ZN14QReadWriteLock14tryLockForReadEv(l) };
    steps::tried(Call { lock: l as u64, flags, site, back }, had);
    had
}

/// `QReadWriteLock::tryLockForRead(int)`.
///
/// # Safety
/// The arguments keep the contract of `QReadWriteLock::tryLockForRead(int)`; the stub passes `site`
/// and `back`.
pub unsafe extern "C-unwind" fn read_within(l: RwLock, ms: c_int, site: u64, back: Return) -> bool {
    let call = Call { lock: l as u64, flags: reads(l), site, back };
    // SAFETY: Qt's function gets the program's own `l` and `ms` unchanged, as without us.
    steps::take_within(call, ms, |ms| unsafe { next::_ZN14QReadWriteLock14tryLockForReadEi(l, ms) })
}

/// The flags of a writer: its holder may take it again if the lock was made so.
fn writes(l: RwLock) -> u32 {
    if steps::is_held(l as u64) { flag::RECURSIVE } else { 0 }
}

/// `QReadWriteLock::lockForWrite`.
///
/// # Safety
/// The arguments keep the contract of `QReadWriteLock::lockForWrite`; the stub passes `site` and
/// `back`.
pub unsafe extern "C-unwind" fn write(l: RwLock, site: u64, back: Return) {
    let call = Call { lock: l as u64, flags: writes(l), site, back };
    // SAFETY: the program passed `l` to `lockForWrite`, which asks of it what `tryLockForWrite`
    // asks.
    let attempt = || unsafe { next::_ZN14QReadWriteLock15tryLockForWriteEv(l) };
    // SAFETY: Qt's function gets the program's own `l` unchanged, as without us.
    steps::take(call, attempt, || unsafe { next::_ZN14QReadWriteLock12lockForWriteEv(l) });
}

/// `QReadWriteLock::tryLockForWrite`.
///
/// # Safety
/// The arguments keep the contract of `QReadWriteLock::tryLockForWrite`; the stub passes `site` and
/// `back`.
pub unsafe extern "C-unwind" fn try_write(l: RwLock, site: u64, back: Return) -> bool {
    let flags = writes(l);
    // SAFETY: Qt's function gets the program's own `l` unchanged, as without us.
    let had = unsafe { next::_ZN14QReadWriteLock15tryLockForWriteEv(l) };
    steps::tried(Call { lock: l as u64, flags, site, back }, had);
    had
}

/// `QReadWriteLock::tryLockForWrite(int)`.
///
/// # Safety
/// The arguments keep the contract of `QReadWriteLock::tryLockForWrite(int)`; the stub passes
/// `site` and `back`.
pub unsafe extern "C-unwind" fn write_within(
    l: RwLock,
    ms: c_int,
    site: u64,
    back: Return,
) -> bool {
    let call = Call { lock: l as u64, flags: writes(l), site, back };
    // SAFETY: Qt's function gets the program's own `l` and `ms` unchanged, as without us.
    steps::take_within(call, ms, |ms| unsafe {
        next::_ZN14QReadWriteLock15tryLockForWriteEi(l, ms)
    })
}

/// `QReadWriteLock::unlock`.
///
/// # Safety
/// The arguments keep the contract of `QReadWriteLock::unlock`; the stub passes `site`.
pub unsafe extern "C-unwind" fn rw_unlock(l: RwLock, site: u64) {
    steps::release(l as u64, site);
    // SAFETY: Qt's function gets the program's own `l` unchanged, as without us.
    unsafe { next::_ZN14QReadWriteLock6unlockEv(l) };
}

/// `name = function`: the lock's life is over.
macro_rules! ends {
    ($($name:ident = $next:ident;)*) => { $(
        /// # Safety
        /// The arguments keep the contract of the row's function; the stub passes `site`.
        pub unsafe extern "C-unwind" fn $name(lock: *mut c_void, site: u64) {
            steps::destroy(lock as u64, site);
            // SAFETY: the next function gets the program's own arguments unchanged, as without us.
            unsafe { next::$next(lock) };
        }
    )* };
}

ends! {
    end = _ZN6QMutexD1Ev;
    part_end = _ZN6QMutexD2Ev;
    rw_end = _ZN14QReadWriteLockD1Ev;
    rw_part_end = _ZN14QReadWriteLockD2Ev;
}

/// `name(more arguments) = function`: gives the lock up and takes it again, and says whether it was
/// woken. A QWaitCondition is one of the C library's, with a mutex of its own.
macro_rules! waits {
    ($($name:ident($($arg:ident: $ty:ty),*) = $next:ident;)*) => { $(
        /// # Safety
        /// The arguments keep the contract of the row's function; the stub passes `site`.
        pub unsafe extern "C-unwind" fn $name(
            c: Cond,
            lock: *mut c_void,
            $($arg: $ty,)*
            site: u64,
        ) -> bool {
            let mut is_woken = false;
            steps::wait_by_other(lock as u64, site, || {
                // SAFETY: the next function gets the program's own arguments unchanged, as without
                // us.
                is_woken = unsafe { next::$next(c, lock, $($arg),*) };
            });
            is_woken
        }
    )* };
}

// A QDeadlineTimer is in two registers.
waits! {
    wait(ms: c_ulong) = _ZN14QWaitCondition4waitEP6QMutexm;
    rw_wait(ms: c_ulong) = _ZN14QWaitCondition4waitEP14QReadWriteLockm;
    wait_until(time: u64, more: u64) = _ZN14QWaitCondition4waitEP6QMutex14QDeadlineTimer;
    rw_wait_until(time: u64, more: u64) = _ZN14QWaitCondition4waitEP14QReadWriteLock14QDeadlineTimer;
}
