//! Attributes of threads, and of what they synchronise with. To the C library they are plain memory: programs copy
//! them, and leave them where they lie. So one of which nothing is known is taken for a copy as long as its bytes can
//! be an attribute's, and an end is told only of what was seen to begin.

use core::ffi::{c_int, c_void};

use crate::objects::{self, Type, tell, types, used};
use crate::real;

type Attribute = *mut c_void;

/// `function: type, what it does`: stands in front of a function whose first argument is an attribute, and that has up
/// to two more.
macro_rules! attributes {
    ($($name:ident: $kind:ident, $does:ident;)*) => { $(
        #[doc = concat!("Stands in front of the C library's `", stringify!($name), "`.")]
        /// # Safety
        /// As the function itself.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(a: Attribute, x: usize, y: usize) -> c_int {
            // SAFETY: forwarded. It does not see arguments that it has not.
            $does(&types::$kind, a as u64, || unsafe { real::$name(a, x, y) })
        }
    )* };
}

attributes! {
    pthread_attr_init: ATTR, initialises;
    pthread_attr_destroy: ATTR, destroys;
    pthread_attr_setdetachstate: ATTR, uses;
    pthread_attr_setguardsize: ATTR, uses;
    pthread_attr_setinheritsched: ATTR, uses;
    pthread_attr_setschedparam: ATTR, uses;
    pthread_attr_setschedpolicy: ATTR, uses;
    pthread_attr_setscope: ATTR, uses;
    pthread_attr_setsigmask_np: ATTR, uses;
    pthread_attr_setstack: ATTR, uses;
    pthread_attr_setstackaddr: ATTR, uses;
    pthread_attr_setstacksize: ATTR, uses;
    pthread_getattr_default_np: ATTR, initialises;

    pthread_mutexattr_init: MUTEXATTR, initialises;
    __pthread_mutexattr_init: MUTEXATTR, initialises;
    pthread_mutexattr_destroy: MUTEXATTR, destroys;
    __pthread_mutexattr_destroy: MUTEXATTR, destroys;
    pthread_mutexattr_setkind_np: MUTEXATTR, uses;
    pthread_mutexattr_setprioceiling: MUTEXATTR, uses;
    pthread_mutexattr_setprotocol: MUTEXATTR, uses;
    pthread_mutexattr_setpshared: MUTEXATTR, uses;
    pthread_mutexattr_setrobust: MUTEXATTR, uses;
    pthread_mutexattr_setrobust_np: MUTEXATTR, uses;
    pthread_mutexattr_settype: MUTEXATTR, uses;
    __pthread_mutexattr_settype: MUTEXATTR, uses;

    pthread_rwlockattr_init: RWLOCKATTR, initialises;
    pthread_rwlockattr_destroy: RWLOCKATTR, destroys;
    pthread_rwlockattr_setkind_np: RWLOCKATTR, uses;
    pthread_rwlockattr_setpshared: RWLOCKATTR, uses;

    pthread_condattr_init: CONDATTR, initialises;
    pthread_condattr_destroy: CONDATTR, destroys;
    pthread_condattr_setclock: CONDATTR, uses;
    pthread_condattr_setpshared: CONDATTR, uses;

    pthread_barrierattr_init: BARRIERATTR, initialises;
    pthread_barrierattr_destroy: BARRIERATTR, destroys;
    pthread_barrierattr_setpshared: BARRIERATTR, uses;
}

/// Stands in front of the C library's `pthread_getattr_np`: it initialises its second argument.
///
/// # Safety
/// As the function itself.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_getattr_np(t: libc::pthread_t, a: Attribute) -> c_int {
    // SAFETY: forwarded.
    initialises(&types::ATTR, a as u64, || unsafe { real::pthread_getattr_np(t, a) })
}

fn initialises(kind: &'static Type, addr: u64, init: impl FnOnce() -> c_int) -> c_int {
    let before = tell::initialises(kind, addr);
    let result = init();
    if result == 0 {
        tell::initialised(kind, addr, before, None);
    }
    result
}

fn destroys(kind: &'static Type, addr: u64, destroy: impl FnOnce() -> c_int) -> c_int {
    if objects::is_on() && used::state(kind, addr).is_none() {
        return destroy();
    }
    let before = tell::destroys(kind, addr);
    let result = destroy();
    if result == 0 {
        tell::destroyed(kind, addr, before, None);
    }
    result
}

fn uses(kind: &'static Type, addr: u64, set: impl FnOnce() -> c_int) -> c_int {
    used::used_copied(kind, addr);
    set()
}

/// An attribute, which may be null, is handed to a function that makes something by it.
#[inline]
pub fn made_by<T>(kind: &'static Type, attr: *const T) {
    if !attr.is_null() {
        used::used_copied(kind, attr as u64);
    }
}
