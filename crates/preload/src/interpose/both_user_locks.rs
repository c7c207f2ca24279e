//! User-defined locks where lockdep and lockmeter both run.

use core::ffi::c_int;

use crate::callsite::Return;
use crate::lockdep::annotate::user_locks as lockdep;
use crate::lockmeter::user_locks as lockmeter;

macro_rules! both {
    ($($name:ident;)*) => { $(
        pub unsafe extern "C-unwind" fn $name(lock: u64, site: u64) -> c_int {
            // SAFETY: forwarded.
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

pub unsafe extern "C-unwind" fn acquire(lock: u64, flags: u32, site: u64, back: Return) -> c_int {
    // SAFETY: forwarded.
    unsafe {
        lockdep::acquire(lock, flags, site, back);
        lockmeter::acquire(lock, flags, site, back)
    }
}
