//! pthread_spinlock_t: its life, and what takes one.

use core::ffi::c_int;

use libc::pthread_spinlock_t;

use crate::callsite::Return;
use crate::debugobjects::types;
use crate::interpose::engine::{Call, Engine, Lockdep};
use crate::interpose::lifetimes;
use crate::libc::real;
use crate::lock_id::by_address::spin_lock;
use crate::lock_id::lock_pages;
use crate::stack::modules;

type Spin = *mut pthread_spinlock_t;

/// `pthread_spin_init`.
///
/// # Safety
/// The arguments keep the contract of `pthread_spin_init`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn init(l: Spin, shared: c_int, site: u64, back: Return) -> c_int {
    // Its bytes do not tell; and what is called shared need not be where others can reach it.
    let is_shared = shared != libc::PTHREAD_PROCESS_PRIVATE && modules::is_shared(l as u64);
    let lock = spin_lock(l).cast_mut();
    // SAFETY: `l` is the memory that the program initialises as a spinlock, which is one word.
    unsafe {
        lifetimes::init(&types::SPIN, lock, is_shared, back.frame(site), || {
            real::pthread_spin_init(l, shared)
        })
    }
}

/// `pthread_spin_destroy`.
///
/// # Safety
/// The arguments keep the contract of `pthread_spin_destroy`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn destroy(l: Spin, site: u64, back: Return) -> c_int {
    if !lock_pages::has_memory(l) {
        // SAFETY: there is no memory, and the C library does not look; the program's own `l` goes
        // on unchanged.
        return unsafe { real::pthread_spin_destroy(l) };
    }
    let lock = spin_lock(l).cast_mut();
    // SAFETY: `l` is the program's own spinlock, which nobody may use any more, as the C library
    // asks.
    unsafe {
        lifetimes::destroy(&types::SPIN, lock, back.frame(site), || real::pthread_spin_destroy(l))
    }
}

/// `pthread_spin_lock`.
///
/// # Safety
/// The arguments keep the contract of `pthread_spin_lock`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn lock<E: Engine>(l: Spin, site: u64, back: Return) -> c_int {
    let call = Call { lock: spin_lock(l).cast_mut(), mode: 0, site, back };
    // SAFETY: the next `pthread_spin_lock` gets the program's own `l` unchanged, as without us.
    let block = move |_| unsafe { real::pthread_spin_lock(l) };
    // SAFETY: this wrapper for lockdep, `lock::<Lockdep>`, gets the same call's arguments.
    let by_lockdep = || unsafe { lock::<Lockdep>(l, site, back) };
    // SAFETY: `call.lock` is the lock that the program passed to be taken, as the engine requires.
    unsafe { E::acquire(call, || true, block, by_lockdep) }
}

/// `pthread_spin_trylock`.
///
/// # Safety
/// The arguments keep the contract of `pthread_spin_trylock`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn trylock<E: Engine>(l: Spin, site: u64, back: Return) -> c_int {
    let call = Call { lock: spin_lock(l).cast_mut(), mode: 0, site, back };
    // SAFETY: this wrapper for lockdep, `trylock::<Lockdep>`, gets the same call's arguments.
    let by_lockdep = || unsafe { trylock::<Lockdep>(l, site, back) };
    // SAFETY: `call.lock` is the lock that the program passed to be taken, as the engine requires.
    unsafe { E::try_acquire(call, by_lockdep) }
}
