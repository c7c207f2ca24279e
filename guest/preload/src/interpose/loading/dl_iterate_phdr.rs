//! `dl_iterate_phdr`, which holds a lock of the loader's while its callback runs. Unwinders before
//! GCC 12's call it for each exception, and so do those with a C library before glibc 2.35.
//!
//! An exception in the callback, or the thread's end, unwinds past us, and the C library releases the
//! lock. So the call is made in a function with a personality routine of its own.

use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;

use crate::callsite::Return;
use crate::libc::real;
use crate::lockdep::loader_locks;
use crate::stack::unwound_call::unwound_call;

unwound_call!(
    "lockwright_call_iterate",
    call_iterate,
    loader_locks::leave(&loader_locks::OBJECT_LIST)
);

/// `dl_iterate_phdr`, with the lock of the list held as far as we know.
///
/// # Safety
/// The arguments keep the contract of `dl_iterate_phdr`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn dl_iterate_phdr(
    callback: *mut c_void,
    data: *mut c_void,
    site: u64,
    back: Return,
) -> c_int {
    // SAFETY: the program's call, which the stub came from, has not returned.
    if !unsafe { loader_locks::enter(&loader_locks::OBJECT_LIST, site, back) } {
        // SAFETY: `callback` and `data` are the program's own, and `dl_iterate_phdr` gets them
        // unchanged.
        return unsafe { real::dl_iterate_phdr(callback, data) };
    }
    let next = real::slot::dl_iterate_phdr.load(Relaxed);
    // SAFETY: the stub comes here once the function is known, and it gets the program's own
    // arguments unchanged.
    let result = unsafe { call_iterate(callback, data, next) };
    loader_locks::leave(&loader_locks::OBJECT_LIST);
    result
}
