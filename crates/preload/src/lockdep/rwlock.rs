//! pthread_rwlock_*. A reader of the default kind is not held up by waiting writers (the kernel's
//! recursive read); one of the writer-preferring kind is.

use core::ffi::c_int;

use libc::{pthread_rwlock_t, pthread_rwlockattr_t};
use lockwright_engines::lockdep::ThreadState;
use lockwright_ledger::rows::{finding_kind, lock_kind, mode};

use super::acquire::Watched;
use super::{misuse, watch};
use crate::debugobjects::tell::{self, Before};
use crate::debugobjects::{self, attribute_calls, types};
use crate::libc::real;
use crate::lock_id::identity::{self, Birth, Identify};
use crate::lock_id::inherited;
use crate::os::tls;
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

/// Somebody holds the lock, by its own word: `__readers` at offset 0 counts readers from bit 3 and
/// marks a writer in bit 1.
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

impl Watched for pthread_rwlock_t {
    #[inline(always)]
    unsafe fn mode(this: *mut Self, mode: u16) -> u16 {
        if mode & mode::READ == 0 {
            return mode;
        }
        // SAFETY: the caller's lock.
        match unsafe { Self::kind(this) } {
            lock_kind::RWLOCK_WRITER => mode,
            _ => mode | mode::READ_RECURSIVE,
        }
    }
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
