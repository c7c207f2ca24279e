//! User-defined locks where lockdep and lockmeter both run.

use core::ffi::c_int;

use crate::callsite::Return;
use crate::lockdep::annotate::user_locks as lockdep;
use crate::lockmeter::user_locks as lockmeter;

macro_rules! both {
    ($($name:ident;)*) => { $(
        /// # Safety
        /// `lock` names the caller's lock by its address, and `site` is the call's return address.
        pub unsafe extern "C-unwind" fn $name(lock: u64, site: u64) -> c_int {
            // SAFETY: both are the wrappers of this annotation, and use `lock` as an address only.
            unsafe {
                lockdep::$name(lock, site);
                lockmeter::$name(lock, site)
            }
        }
    )* };
}

both! {
    contended;
    acquired;
    abandoned;
    release;
}

/// # Safety
/// `lock` names the caller's lock by its address; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn acquire(lock: u64, flags: u32, site: u64, back: Return) -> c_int {
    // SAFETY: both are wrappers of this annotation and use `lock` as an address; the stub passed
    // `site` and `back`.
    unsafe {
        lockdep::acquire(lock, flags, site, back);
        lockmeter::acquire(lock, flags, site, back)
    }
}
