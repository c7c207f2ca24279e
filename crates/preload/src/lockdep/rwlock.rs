//! pthread_rwlock_*. A reader of the default kind is not held up by waiting writers (the kernel's
//! recursive read); one of the writer-preferring kind is.

use core::ffi::c_int;

use libc::{clockid_t, pthread_rwlock_t, pthread_rwlockattr_t, timespec};
use lockwright_engines::lockdep::{Acquire, ThreadState};
use lockwright_ledger::rows::{finding_kind, lock_kind, mode};

use super::misuse;
use super::watch::{self, Blocking};
use crate::callsite::Return;
use crate::debugobjects::tell::{self, Before};
use crate::debugobjects::{self, attribute_calls, types};
use crate::libc::real;
use crate::lock_id::identity::{self, Birth, Identify};
use crate::lock_id::inherited;
use crate::os::{deadline, sys, tls};
use crate::recorder::state;

type RwLock = *mut pthread_rwlock_t;

pub unsafe extern "C-unwind" fn init(
    l: RwLock,
    attr: *const pthread_rwlockattr_t,
    _site: u64,
) -> c_int {
    attribute_calls::made_by(&types::RWLOCKATTR, attr);
    if state::status() != state::ACTIVE && !debugobjects::may_be_wanted() {
        // SAFETY: forwarded.
        return unsafe { real::pthread_rwlock_init(l, attr) };
    }
    let mut before = tell::initialises(&types::RWLOCK, l as u64);
    // SAFETY: the caller's memory, large enough for a lock; what it says is only a hint.
    if unsafe { if_held(l, finding_kind::HELD_INITIALISED) } {
        before = Before::Over;
    }
    // SAFETY: forwarded.
    let result = unsafe { real::pthread_rwlock_init(l, attr) };
    if result == 0 {
        // SAFETY: just initialised.
        let stack = unsafe { identity::begin(l, debugobjects::is_on()) };
        tell::initialised(&types::RWLOCK, l as u64, before, stack);
    }
    result
}

pub unsafe extern "C-unwind" fn destroy(l: RwLock, _site: u64) -> c_int {
    let before = tell::destroys(&types::RWLOCK, l as u64);
    // SAFETY: the caller's lock.
    unsafe { if_held(l, finding_kind::HELD_DESTROYED) };
    // SAFETY: forwarded.
    let result = unsafe { real::pthread_rwlock_destroy(l) };
    if result == 0 {
        // SAFETY: the caller still owns the memory.
        let stack = unsafe { identity::forget(l) };
        tell::destroyed(&types::RWLOCK, l as u64, before, stack);
    }
    result
}

/// Somebody holds the lock, by its own word: `__readers` at offset 0 counts readers from bit 3 and marks
/// a writer in bit 1.
unsafe fn is_locked(l: RwLock) -> bool {
    // SAFETY: the caller's lock.
    unsafe { l.cast::<u32>().read_volatile() >> 1 != 0 }
}

/// Tells of what happens to a lock that somebody holds. Says whether somebody does.
unsafe fn if_held(l: RwLock, kind: u8) -> bool {
    // SAFETY: the caller's lock.
    let busy = unsafe { identity::stamped(l).is_some() && is_locked(l) };
    busy && watch::thread()
        .is_some_and(|thread| misuse::if_held(thread, kind, l as u64, l as u64 + 1).is_some())
}

/// Mode bits of a reader of this lock.
unsafe fn reader(l: RwLock) -> u16 {
    // SAFETY: the caller's lock.
    match unsafe { pthread_rwlock_t::kind(l) } {
        lock_kind::RWLOCK_WRITER => mode::READ,
        _ => mode::READ | mode::READ_RECURSIVE,
    }
}

#[inline(always)]
unsafe fn acquire(
    l: RwLock,
    site: u64,
    back: Return,
    mode: u16,
    block: impl FnOnce(RwLock) -> c_int,
) -> c_int {
    match watch::reserve(l, mode, site) {
        // SAFETY: forwarded, reserved.
        Some(thread) => unsafe { acquire_reserved(l, thread, mode, block) },
        // SAFETY: forwarded.
        None => unsafe { acquire_otherwise(l, site, back, mode, block) },
    }
}

#[inline(never)]
unsafe fn acquire_otherwise(
    l: RwLock,
    site: u64,
    back: Return,
    mode: u16,
    block: impl FnOnce(RwLock) -> c_int,
) -> c_int {
    let Some((thread, ident)) = watch::subject(l) else { return block(l) };
    let lock = Acquire { addr: l as u64, ident, mode, site };
    // SAFETY: as the stub passes it.
    match unsafe { watch::before_past(thread, lock, back) } {
        // SAFETY: forwarded, reserved.
        true => unsafe { acquire_reserved(l, thread, mode, block) },
        false => block(l),
    }
}

#[inline(always)]
unsafe fn acquire_reserved(
    l: RwLock,
    thread: &mut ThreadState,
    mode: u16,
    block: impl FnOnce(RwLock) -> c_int,
) -> c_int {
    // SAFETY: the caller's lock; `__cur_writer` at offset 24. 0 if readers hold it.
    let blocking = || unsafe {
        let owner = l.cast::<u32>().add(6).read_volatile();
        // glibc answers EDEADLK to a writer that locks again; a reader that wants to write just hangs.
        let relock_fails = owner == sys::gettid();
        // That of an inherited lock may be its parent's.
        Blocking { relock_fails, owner: if inherited::is_inherited(l as u64) { 0 } else { owner } }
    };
    // SAFETY: forwarded.
    let try_lock = || unsafe {
        match mode & mode::READ {
            0 => real::pthread_rwlock_trywrlock(l),
            _ => real::pthread_rwlock_tryrdlock(l),
        }
    };
    watch::acquire_reserved(thread, l as u64, blocking, try_lock, || block(l))
}

/// A read acquisition; `timed` is 0 or [`mode::TIMED`].
#[inline(always)]
unsafe fn read(
    l: RwLock,
    site: u64,
    back: Return,
    timed: u16,
    block: impl FnOnce(RwLock) -> c_int,
) -> c_int {
    // SAFETY: forwarded.
    unsafe { acquire(l, site, back, reader(l) | timed, block) }
}

/// A write acquisition; `timed` is 0 or [`mode::TIMED`].
#[inline(always)]
unsafe fn write(
    l: RwLock,
    site: u64,
    back: Return,
    timed: u16,
    block: impl FnOnce(RwLock) -> c_int,
) -> c_int {
    // SAFETY: forwarded.
    unsafe { acquire(l, site, back, timed, block) }
}

pub unsafe extern "C-unwind" fn rdlock(l: RwLock, site: u64, back: Return) -> c_int {
    // SAFETY: forwarded.
    unsafe { read(l, site, back, 0, move |l| real::pthread_rwlock_rdlock(l)) }
}

pub unsafe extern "C-unwind" fn wrlock(l: RwLock, site: u64, back: Return) -> c_int {
    // SAFETY: forwarded.
    unsafe { write(l, site, back, 0, move |l| real::pthread_rwlock_wrlock(l)) }
}

pub unsafe extern "C-unwind" fn timedrdlock(
    l: RwLock,
    t: *const timespec,
    site: u64,
    back: Return,
) -> c_int {
    // SAFETY: forwarded.
    let block = move |l| unsafe { real::pthread_rwlock_timedrdlock(l, t) };
    // SAFETY: the caller's lock and deadline.
    unsafe {
        match deadline::is_time_or_none(t) {
            true => read(l, site, back, mode::TIMED, block),
            false => block(l),
        }
    }
}

pub unsafe extern "C-unwind" fn timedwrlock(
    l: RwLock,
    t: *const timespec,
    site: u64,
    back: Return,
) -> c_int {
    // SAFETY: forwarded.
    let block = move |l| unsafe { real::pthread_rwlock_timedwrlock(l, t) };
    // SAFETY: the caller's lock and deadline.
    unsafe {
        match deadline::is_time_or_none(t) {
            true => write(l, site, back, mode::TIMED, block),
            false => block(l),
        }
    }
}

pub unsafe extern "C-unwind" fn clockrdlock(
    l: RwLock,
    clock: clockid_t,
    t: *const timespec,
    site: u64,
    back: Return,
) -> c_int {
    // SAFETY: forwarded.
    let block = move |l| unsafe { real::pthread_rwlock_clockrdlock(l, clock, t) };
    // SAFETY: the caller's lock and deadline.
    unsafe {
        match deadline::is_clock(clock) && deadline::is_time_or_none(t) {
            true => read(l, site, back, mode::TIMED, block),
            false => block(l),
        }
    }
}

pub unsafe extern "C-unwind" fn clockwrlock(
    l: RwLock,
    clock: clockid_t,
    t: *const timespec,
    site: u64,
    back: Return,
) -> c_int {
    // SAFETY: forwarded.
    let block = move |l| unsafe { real::pthread_rwlock_clockwrlock(l, clock, t) };
    // SAFETY: the caller's lock and deadline.
    unsafe {
        match deadline::is_clock(clock) && deadline::is_time_or_none(t) {
            true => write(l, site, back, mode::TIMED, block),
            false => block(l),
        }
    }
}

unsafe fn acquired_by_try(l: RwLock, site: u64, back: Return, mode: u16) {
    if let Some((thread, ident)) = watch::subject(l) {
        let lock = Acquire { addr: l as u64, ident, mode: mode | mode::TRY, site };
        // SAFETY: as the stub passes it.
        unsafe { watch::tried_past(thread, lock, back) };
    }
}

pub unsafe extern "C-unwind" fn tryrdlock(l: RwLock, site: u64, back: Return) -> c_int {
    // SAFETY: forwarded.
    let result = unsafe { real::pthread_rwlock_tryrdlock(l) };
    if result == 0 {
        // SAFETY: the caller's lock.
        unsafe { acquired_by_try(l, site, back, reader(l)) };
    }
    result
}

pub unsafe extern "C-unwind" fn trywrlock(l: RwLock, site: u64, back: Return) -> c_int {
    // SAFETY: forwarded.
    let result = unsafe { real::pthread_rwlock_trywrlock(l) };
    if result == 0 {
        // SAFETY: the caller's lock.
        unsafe { acquired_by_try(l, site, back, 0) };
    }
    result
}

pub unsafe extern "C-unwind" fn unlock(l: RwLock, _site: u64) -> c_int {
    // SAFETY: as `watch::thread`.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else {
        // SAFETY: forwarded.
        let result = unsafe { real::pthread_rwlock_unlock(l) };
        inherited::unlocked(l as u64);
        return result;
    };
    if !thread.is_innermost(l as u64) {
        // SAFETY: forwarded.
        return unsafe { unlock_otherwise(l, thread) };
    }
    // SAFETY: forwarded.
    let result = unsafe { real::pthread_rwlock_unlock(l) };
    if result == 0 {
        watch::released(thread, l as u64, None);
    }
    result
}

/// Not the innermost, or not held at all.
#[cold]
unsafe fn unlock_otherwise(l: RwLock, thread: &mut ThreadState) -> c_int {
    // SAFETY: the caller's lock.
    if let Some(destroyed) = unsafe { identity::destroyed(l) } {
        misuse::used_after_destroy(thread, l as u64, &destroyed);
        // SAFETY: forwarded.
        return unsafe { real::pthread_rwlock_unlock(l) };
    }
    // Who it is must be asked before it may be gone.
    // SAFETY: the caller's lock.
    let (locked, known) = unsafe { (is_locked(l), identity::known(l)) };
    if known.is_none() {
        // Its bytes may be such as no lock has.
        debugobjects::used::used_lock(l);
    }
    let is_unlocked = !locked && thread.find(l as u64).is_none();
    let ident = match known {
        // Nobody has locked it yet: that is the news.
        // SAFETY: as above.
        None if is_unlocked => unsafe { identity::identify(l, Birth::FirstAcquire) },
        _ => known,
    };
    // SAFETY: forwarded.
    let result = unsafe { real::pthread_rwlock_unlock(l) };
    match ident {
        _ if result != 0 => {}
        Some(ident) if is_unlocked => misuse::bad_unlock(thread, l as u64, ident, false),
        _ => watch::released(thread, l as u64, ident),
    }
    result
}
