//! C11's mutexes and condition variables: the same objects, with answers of their own. glibc's
//! functions for them call its mutexes by internal names, past us.

use core::ffi::c_int;

use libc::{EBUSY, ENOMEM, ETIMEDOUT, timespec};

use crate::cancel_type;
use crate::cond::{self, Cond};
use crate::lock_choice::{self, NO_SITE};
use crate::mutex::{self, Mutex};

/// glibc's numbers.
mod thrd {
    use super::c_int;

    pub const SUCCESS: c_int = 0;
    pub const BUSY: c_int = 1;
    pub const ERROR: c_int = 2;
    pub const NOMEM: c_int = 3;
    pub const TIMEDOUT: c_int = 4;
}

/// The result of C11's function where pthreads' has this one.
fn answer(error: c_int) -> c_int {
    match error {
        0 => thrd::SUCCESS,
        EBUSY => thrd::BUSY,
        ENOMEM => thrd::NOMEM,
        ETIMEDOUT => thrd::TIMEDOUT,
        _ => thrd::ERROR,
    }
}

/// `mtx_recursive`, a bit of a type.
const RECURSIVE: c_int = 1;

/// `mtx_init`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn mtx_init(m: *mut Mutex, kind: c_int, site: usize) -> c_int {
    // SAFETY: the caller's memory. A pthread mutex of kind 1 is recursive, too. glibc looks at no
    // other bit, either.
    unsafe { mutex::make(m, kind & RECURSIVE, site) };
    thrd::SUCCESS
}

/// Functions that answer as C11 does what the pthread functions do. Mutexes of C11 are initialised
/// by a call, which says whether they are replaced.
macro_rules! c11 {
    ($($name:ident($($arg:ident: $ty:ty),*) $to:path $(, $site:expr)?;)*) => { $(
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As the function itself.
        pub unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> c_int {
            // SAFETY: the program's own objects go on unchanged: C11's are those of pthreads here.
            answer(unsafe { $to($($arg),* $(, $site)?) })
        }
    )* };
}

c11! {
    mtx_lock(m: *mut Mutex) lock_choice::mutex_lock, NO_SITE;
    mtx_trylock(m: *mut Mutex) lock_choice::mutex_trylock, NO_SITE;
    mtx_timedlock(m: *mut Mutex, t: *const timespec) lock_choice::mutex_timedlock, NO_SITE;
    mtx_unlock(m: *mut Mutex) lock_choice::mutex_unlock;
    cnd_wait(c: *mut Cond, m: *mut Mutex) cancel_type::cond_wait;
    cnd_timedwait(c: *mut Cond, m: *mut Mutex, t: *const timespec) cancel_type::cond_timedwait;
    cnd_signal(c: *mut Cond) cancel_type::cond_signal;
    cnd_broadcast(c: *mut Cond) cancel_type::cond_broadcast;
}

/// `mtx_destroy`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn mtx_destroy(m: *mut Mutex) {
    // SAFETY: `m` is the program's own mutex, which nobody may use any more.
    unsafe { mutex::destroy(m) };
}

/// `cnd_init`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn cnd_init(c: *mut Cond) -> c_int {
    // SAFETY: `c` is the memory that the program initialises as a condition variable.
    unsafe { cond::make(c, libc::CLOCK_REALTIME) };
    thrd::SUCCESS
}

/// `cnd_destroy`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn cnd_destroy(c: *mut Cond) {
    // SAFETY: `c` is the program's own condition variable, which nobody may use any more.
    unsafe { cancel_type::cond_destroy(c) };
}
