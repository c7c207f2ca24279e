//! pthread_rwlock_*. A reader of the default kind is not held up by waiting writers (the kernel's
//! recursive read); one of the writer-preferring kind is.

use core::ffi::c_int;

use libc::pthread_rwlock_t;
use lockwright_engines::lockdep::ThreadState;
use lockwright_glibc::table::rwlock;
use lockwright_ledger::rows::{event, lock_kind, mode};

use crate::libc::real;
use crate::lock_id::identity::{self, Birth, Identify};
use crate::lock_id::{first_use, inherited};
use crate::lockdep::acquire::Watched;
use crate::lockdep::{fast_path, misuse, watch};
use crate::os::tls;

type RwLock = *mut pthread_rwlock_t;

/// Somebody holds the lock, by its own word: `__readers` counts readers from bit 3 and
/// marks a writer in bit 1.
///
/// # Safety
/// `l` points to a lock, or to memory that is large enough for one.
unsafe fn is_locked(l: RwLock) -> bool {
    // SAFETY: the caller promises a lock's memory, of which this is a field of glibc's.
    unsafe {
        l.cast::<u32>().byte_add(const { rwlock::READERS.always() }).read_volatile() >> 1 != 0
    }
}

impl Watched for pthread_rwlock_t {
    unsafe fn may_be_held(l: RwLock) -> bool {
        // SAFETY: the caller promises memory that is large enough for such a lock, which both only
        // read.
        unsafe { identity::stamped(l).is_some() && is_locked(l) }
    }

    #[inline(always)]
    unsafe fn mode(this: *mut Self, mode: u16) -> u16 {
        if mode & mode::READ == 0 {
            return mode;
        }
        // SAFETY: the caller promises its lock, whose flags `kind` reads.
        match unsafe { Self::kind(this) } {
            lock_kind::RWLOCK_WRITER => mode,
            _ => mode | mode::READ_RECURSIVE,
        }
    }
}

/// # Safety
/// The arguments keep the contract of `pthread_rwlock_unlock`.
pub unsafe extern "C-unwind" fn unlock(l: RwLock, _site: u64) -> c_int {
    let forward = |thread: &mut ThreadState| {
        thread.did(event::RWLOCK);
        // SAFETY: the next `pthread_rwlock_unlock` gets the program's own `l` unchanged, as without
        // us.
        unsafe { real::pthread_rwlock_unlock(l) }
    };
    let slow = |thread: &mut ThreadState, result| {
        if result == 0 {
            watch::released(thread, l as u64, None);
        }
    };
    match fast_path::unlock(l as u64, forward, slow) {
        Some(result) => result,
        // SAFETY: the program's own `l` goes on unchanged, as `pthread_rwlock_unlock` would get it.
        None => unsafe { unlock_slow(l) },
    }
}

/// The slow path of [`unlock`]: the lock is not the innermost that is held, or is not held at all.
///
/// # Safety
/// `l` is the lock of the program's call of `pthread_rwlock_unlock`.
#[cold]
unsafe fn unlock_slow(l: RwLock) -> c_int {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else {
        // SAFETY: the next `pthread_rwlock_unlock` gets the program's own `l` unchanged, as without
        // us.
        let result = unsafe { real::pthread_rwlock_unlock(l) };
        inherited::unlocked(l as u64);
        return result;
    };
    thread.did(event::RWLOCK);
    // SAFETY: the program passed `l` to this call, so it points to its lock, as `destroyed` asks.
    if let Some(destroyed) = unsafe { identity::destroyed(l) } {
        misuse::used_after_destroy(thread, l as u64, &destroyed);
        // SAFETY: the next `pthread_rwlock_unlock` gets the program's own `l` unchanged, as without
        // us.
        return unsafe { real::pthread_rwlock_unlock(l) };
    }
    // Who it is must be asked before it may be gone.
    // SAFETY: the program passed `l` to this call, so it points to its lock, as `is_locked` asks.
    let (locked, known) = unsafe { (is_locked(l), identity::known(l)) };
    if known.is_none() {
        // SAFETY: `l` points to the program's lock, whose memory tells its kind.
        unsafe { first_use::tell(l) };
    }
    let is_unlocked = !locked && thread.find(l as u64).is_none();
    let ident = match known {
        // Nobody has locked it yet: that is the news.
        // SAFETY: the program passed `l` to this call, so it points to its lock, as `identify`
        // asks.
        None if is_unlocked => unsafe { identity::identify(l, Birth::FirstAcquire) },
        _ => known,
    };
    // SAFETY: the next `pthread_rwlock_unlock` gets the program's own `l` unchanged, as without us.
    let result = unsafe { real::pthread_rwlock_unlock(l) };
    let Some(thread) = watch::own() else { return result };
    match ident {
        _ if result != 0 => {}
        Some(ident) if is_unlocked => misuse::bad_unlock(thread, l as u64, ident, false),
        _ => watch::released(thread, l as u64, ident),
    }
    result
}
