//! Arguments of the program's calls, read only where there is memory. Where there is none the call
//! is forwarded as it is, and the program gets the kernel's EFAULT.
//!
//! We make the system call that asks anyway, so filters that let us run let it pass, too. A thread that
//! must not make any asks nothing.

use core::ffi::{CStr, c_char};

use lockwright_exec::readable::Look;

use super::sys;

/// A look at memory that is the program's.
pub fn look() -> Look {
    Look::by(sys::can_read_word)
}

/// Whether all of what is at `at` can be read; null cannot.
pub fn is_readable<T>(at: *const T) -> bool {
    look().reaches(at.addr(), size_of::<T>())
}

/// What is at `at`, if it can be read; `None` of null, too.
///
/// # Safety
/// As for [`Look::value`].
pub unsafe fn value<T: Copy>(at: *const T) -> Option<T> {
    // SAFETY: the caller promises a valid `T` that nobody writes meanwhile, if there is memory.
    unsafe { look().value(at) }
}

/// The string at `at`, if it can be read; `None` of null, too.
///
/// # Safety
/// As for [`Look::string`].
pub unsafe fn string<'a>(at: *const c_char) -> Option<&'a CStr> {
    // SAFETY: the caller promises that the text stays as it is for `'a`, if there is memory.
    unsafe { look().string(at) }
}
