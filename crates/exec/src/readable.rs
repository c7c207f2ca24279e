//! Whether what a program passes to a call can be read at all. The kernel refuses the rest.
//!
//! The kernel is asked by a system call that copies 8 bytes and then fails: `rt_sigprocmask` with no
//! operation. Every program makes that call.

use core::ffi::{c_char, c_int, c_void};

use crate::{Strings, sys};

const PAGE: usize = 4096;

/// The page that was found to be there last; 0 if none was.
struct Look(usize);

impl Look {
    /// `len` bytes, which do not go beyond the next page, can be read at `at`.
    fn reaches(&mut self, at: usize, len: usize) -> bool {
        let Some(last) = at.checked_add(len - 1) else { return false };
        [at / PAGE, last / PAGE].into_iter().all(|page| {
            let found = page != 0 && (self.0 == page || sys::can_read(page * PAGE));
            if found {
                self.0 = page;
            }
            found
        })
    }

    /// The text at `at` has an end.
    ///
    /// # Safety
    /// Nobody takes the memory away meanwhile.
    unsafe fn ends(&mut self, mut at: *const c_char) -> bool {
        while self.reaches(at.addr(), 1) {
            // SAFETY: it can be read.
            if unsafe { at.read() } == 0 {
                return true;
            }
            at = at.wrapping_add(1);
        }
        false
    }
}

/// Whether the `len` bytes at `at` can be read, which are at most a page.
pub fn is_there(at: *const c_void, len: usize) -> bool {
    Look(0).reaches(at.addr(), len)
}

/// Whether the text at `at` can be read up to its end. Null cannot.
///
/// # Safety
/// Nobody takes the memory away meanwhile.
pub unsafe fn is_text(at: *const c_char) -> bool {
    // SAFETY: the caller's promise.
    unsafe { Look(0).ends(at) }
}

/// Whether an environment can be read: each text, up to the null that ends it. Null is an empty one.
///
/// # Safety
/// As for [`is_text`].
pub unsafe fn is_environment(mut environment: Strings) -> bool {
    let (mut addresses, mut texts) = (Look(0), Look(0));
    if environment.is_null() {
        return true;
    }
    while addresses.reaches(environment.addr(), size_of::<*const c_char>()) {
        // SAFETY: it can be read.
        let text = unsafe { environment.read_unaligned() };
        if text.is_null() {
            return true;
        }
        // SAFETY: the caller's promise.
        if !unsafe { texts.ends(text) } {
            return false;
        }
        environment = environment.wrapping_add(1);
    }
    false
}

/// Whether the text at `at` is there and empty.
///
/// # Safety
/// As for [`is_text`].
pub unsafe fn is_empty(at: *const c_char) -> bool {
    // SAFETY: it can be read; the caller's promise.
    Look(0).reaches(at.addr(), 1) && c_int::from(unsafe { at.read() }) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_environments_without_memory_are_none() {
        let nowhere = 0x10 as *const c_char;
        // SAFETY: statics, or no memory.
        unsafe {
            assert!(is_text(c"text".as_ptr()) && is_empty(c"".as_ptr()));
            assert!(!is_empty(c"text".as_ptr()) && !is_empty(nowhere));
            assert!(!is_text(nowhere) && !is_text(core::ptr::null()));
            assert!(!is_text(usize::MAX as *const c_char));
            assert!(is_environment(core::ptr::null()));
            assert!(!is_environment(nowhere.cast()));
            let good = [c"A=1".as_ptr(), core::ptr::null()];
            let bad = [c"A=1".as_ptr(), nowhere, core::ptr::null()];
            assert!(is_environment(good.as_ptr()) && !is_environment(bad.as_ptr()));
        }
    }
}
