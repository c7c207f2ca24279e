//! What is loaded: `dlopen`, which searches by the RUNPATH of whoever calls it.
//!
//! So a call of which that may matter is passed on with its return address as it is, and all that
//! is known of it is that it took the loader's lock. Of others, that name a path, we are the caller
//! and know when the lock is given up again.

use core::ffi::{c_char, c_int, c_void};

use crate::callsite::Return;
use crate::libc::real;
use crate::lockdep::loader;

/// Before the stub decides where to go: whether it is [`dlopen`].
///
/// # Safety
/// The program's call, which the stub came from.
pub unsafe extern "C-unwind" fn prepare(
    file: *const c_char,
    _flags: c_int,
    site: u64,
    back: Return,
) -> bool {
    // SAFETY: the caller's promise.
    if file.is_null() || !unsafe { loader::enter(&loader::LOADER, site, back) } {
        return false;
    }
    // SAFETY: the program's file name.
    let is_path = unsafe { is_path(file) };
    if !is_path {
        loader::leave(&loader::LOADER);
    }
    is_path
}

/// The name is of a file and not searched for, and says nothing that depends on the caller.
///
/// # Safety
/// A C string.
unsafe fn is_path(file: *const c_char) -> bool {
    // SAFETY: the caller's promise.
    let name = unsafe { core::ffi::CStr::from_ptr(file) }.to_bytes();
    name.contains(&b'/') && !name.contains(&b'$')
}

/// `dlopen` of a path, with the loader's lock held as far as we know.
///
/// # Safety
/// As the function itself; [`prepare`] said so.
pub unsafe extern "C-unwind" fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void {
    // SAFETY: forwarded.
    let handle = unsafe { real::dlopen(file, flags) };
    loader::leave(&loader::LOADER);
    handle
}
