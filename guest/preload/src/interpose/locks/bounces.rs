//! Wrappers that count bounces, before those that measure: only where bounces are asked for are
//! they in the stubs' targets, and so cost nobody else an instruction.

use core::ffi::c_int;
use core::mem::transmute;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use libc::{
    clockid_t, pthread_cond_t, pthread_mutex_t, pthread_rwlock_t, pthread_spinlock_t, timespec,
};

use crate::callsite::Return;
use crate::interpose::target;
use crate::lockmeter::bounces::{acquired, around_release};

type Mutex = *mut pthread_mutex_t;
type Rwlock = *mut pthread_rwlock_t;
type Spin = *mut pthread_spinlock_t;
type Cond = *mut pthread_cond_t;
type Time = *const timespec;
type Stack = *const u64;

/// `name(arguments): kind(lock);`, with what the stubs pass. Kinds: `takes` the lock, `releases` it,
/// or gives it up and takes it again (`waits`).
macro_rules! counted {
    (@takes $lock:expr, $call:expr) => {
        acquired($lock as u64, $call)
    };
    (@releases $lock:expr, $call:expr) => {
        around_release($lock as u64, || $call)
    };
    (@waits $lock:expr, $call:expr) => {{
        let result = around_release($lock as u64, || $call);
        // Timed out or not, the thread has it again.
        acquired($lock as u64, 0);
        result
    }};
    ($($name:ident($($arg:ident: $ty:ty),*): $kind:ident($lock:expr);)*) => {
        /// What the stubs went to before, as chosen at start.
        mod measured {
            use super::*;
            $(
                #[allow(non_upper_case_globals, reason = "named as the function is")]
                pub static $name: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());
            )*
        }

        mod counting {
            use super::*;
            $(
                #[doc = concat!("`", stringify!($name), "`.")]
                ///
                /// # Safety
                /// The arguments keep the contract of the function of that name; `choose` has
                /// stored its target.
                pub unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> c_int {
                    type Function = unsafe extern "C-unwind" fn($($ty),*) -> c_int;
                    // SAFETY: `choose` stored the stub's target, a function of this type, before
                    // this could be called.
                    let measured: Function = unsafe { transmute(measured::$name.load(Relaxed)) };
                    // SAFETY: the wrapper that counts nothing gets the arguments of the same call
                    // unchanged.
                    counted!(@$kind $lock, unsafe { measured($($arg),*) })
                }
            )*
        }

        /// Has the stubs go here, and from here to where they went. Called at start, before any
        /// thread, once they are chosen, and before the stubs of internal names follow.
        pub fn choose() {
            $(
                measured::$name.store(target::$name.load(Relaxed), Relaxed);
                target::$name.store(counting::$name as *mut (), Relaxed);
            )*
        }
    };
}

counted! {
    pthread_mutex_lock(m: Mutex, site: u64, stack: Stack): takes(m);
    pthread_mutex_trylock(m: Mutex, site: u64, back: Return): takes(m);
    pthread_mutex_timedlock(m: Mutex, t: Time, site: u64, back: Return): takes(m);
    pthread_mutex_clocklock(m: Mutex, c: clockid_t, t: Time, site: u64, back: Return): takes(m);
    pthread_mutex_unlock(m: Mutex, site: u64): releases(m);
    pthread_rwlock_rdlock(l: Rwlock, site: u64, back: Return): takes(l);
    pthread_rwlock_wrlock(l: Rwlock, site: u64, back: Return): takes(l);
    pthread_rwlock_tryrdlock(l: Rwlock, site: u64, back: Return): takes(l);
    pthread_rwlock_trywrlock(l: Rwlock, site: u64, back: Return): takes(l);
    pthread_rwlock_timedrdlock(l: Rwlock, t: Time, site: u64, back: Return): takes(l);
    pthread_rwlock_timedwrlock(l: Rwlock, t: Time, site: u64, back: Return): takes(l);
    pthread_rwlock_clockrdlock(l: Rwlock, c: clockid_t, t: Time, site: u64, back: Return): takes(l);
    pthread_rwlock_clockwrlock(l: Rwlock, c: clockid_t, t: Time, site: u64, back: Return): takes(l);
    pthread_rwlock_unlock(l: Rwlock, site: u64): releases(l);
    pthread_spin_lock(l: Spin, site: u64, back: Return): takes(l);
    pthread_spin_trylock(l: Spin, site: u64, back: Return): takes(l);
    pthread_spin_unlock(l: Spin, site: u64): releases(l);
    pthread_cond_wait(c: Cond, m: Mutex, site: u64): waits(m);
    pthread_cond_timedwait(c: Cond, m: Mutex, t: Time, site: u64): waits(m);
    pthread_cond_clockwait(c: Cond, m: Mutex, k: clockid_t, t: Time, site: u64): waits(m);
    mtx_lock(m: Mutex, site: u64, back: Return): takes(m);
    mtx_trylock(m: Mutex, site: u64, back: Return): takes(m);
    mtx_timedlock(m: Mutex, t: Time, site: u64, back: Return): takes(m);
    mtx_unlock(m: Mutex, site: u64): releases(m);
    cnd_wait(c: Cond, m: Mutex, site: u64): waits(m);
    cnd_timedwait(c: Cond, m: Mutex, t: Time, site: u64): waits(m);
    // A trylock that has succeeded; before others begin to wait nothing is held yet.
    lockwright_acquire(l: u64, flags: u32, site: u64, back: Return): takes(l);
    lockwright_acquired(l: u64, site: u64): takes(l);
    lockwright_release(l: u64, site: u64): releases(l);
}
