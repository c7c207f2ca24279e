//! What a program passes a call, read only where there is memory. The kernel refuses the rest.
//!
//! The kernel is asked by a system call that copies 8 bytes and then fails: `rt_sigprocmask` with no
//! operation. Every program makes that call.

use core::ffi::{CStr, c_char, c_void};

use crate::sys;

/// Arguments or an environment: null ends it.
pub type Strings = *const *const c_char;

/// Bytes of a page.
const PAGE: usize = 4096;

/// A look at memory that is the program's. It asks once for each page in a row.
pub struct Look {
    /// The page that was found last, 0 if none was.
    page: usize,
    /// Whether the 8 bytes at an address can be read.
    can_read: fn(usize) -> bool,
}

impl Default for Look {
    fn default() -> Self {
        Self::by(sys::can_read)
    }
}

impl Look {
    /// A look of a caller who has its own way to ask whether the 8 bytes at an address can be read.
    pub const fn by(can_read: fn(usize) -> bool) -> Self {
        Self { page: 0, can_read }
    }

    /// All of `[at, at + len)` can be read.
    pub fn reaches(&mut self, at: usize, len: usize) -> bool {
        let Some(last) = at.checked_add(len.saturating_sub(1)) else { return false };
        (at / PAGE..=last / PAGE).all(|page| {
            let found = page != 0 && (self.page == page || (self.can_read)(page * PAGE));
            if found {
                self.page = page;
            }
            found
        })
    }

    /// What is at `at`, if it can be read.
    ///
    /// # Safety
    /// If there is memory, it holds a valid `T` that nobody writes meanwhile.
    pub unsafe fn value<T: Copy>(&mut self, at: *const T) -> Option<T> {
        // SAFETY: `reaches` found it readable, and the caller promises a valid `T` that nobody
        // writes meanwhile.
        self.reaches(at.addr(), size_of::<T>()).then(|| unsafe { at.read_unaligned() })
    }

    /// The string at `at`, if it can be read up to its end.
    ///
    /// # Safety
    /// What can be read there stays as it is for `'a`.
    pub unsafe fn string<'a>(&mut self, at: *const c_char) -> Option<&'a CStr> {
        let mut end = at;
        while self.reaches(end.addr(), 1) {
            let left = PAGE - end.addr() % PAGE;
            for _ in 0..left {
                // SAFETY: in a page that can be read.
                if unsafe { end.read() } == 0 {
                    // SAFETY: what was just read, up to its NUL.
                    return Some(unsafe { CStr::from_ptr(at) });
                }
                end = end.wrapping_add(1);
            }
        }
        None
    }
}

/// Whether the `len` bytes at `at` can be read.
pub fn is_there(at: *const c_void, len: usize) -> bool {
    Look::default().reaches(at.addr(), len)
}

/// Whether the text at `at` can be read up to its end. Null cannot.
///
/// # Safety
/// Nobody takes the memory away meanwhile.
pub unsafe fn is_text(at: *const c_char) -> bool {
    // SAFETY: the caller promises that nobody takes the memory away meanwhile.
    unsafe { Look::default().string(at) }.is_some()
}

/// Whether an environment can be read: each text, up to the null that ends it. Null is an empty one.
///
/// # Safety
/// As for [`is_text`].
pub unsafe fn is_environment(mut environment: Strings) -> bool {
    let (mut addresses, mut texts) = (Look::default(), Look::default());
    if environment.is_null() {
        return true;
    }
    // SAFETY: an array of addresses, if there is memory.
    while let Some(text) = unsafe { addresses.value(environment) } {
        if text.is_null() {
            return true;
        }
        // SAFETY: the caller promises that nobody takes the memory away meanwhile.
        if unsafe { texts.string(text) }.is_none() {
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
    // SAFETY: the caller promises that nobody takes the memory away meanwhile.
    (unsafe { Look::default().value(at) }) == Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_environments_without_memory_are_none() {
        let nowhere = 0x10 as *const c_char;
        // SAFETY: each address is that of a static or a local that stays, or has no memory at all.
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

    /// Two pages, of which the second cannot be read.
    fn pages() -> *mut u8 {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: both calls work on a new mapping of two pages, of which nobody else knows.
        unsafe {
            let readable = libc::PROT_READ | libc::PROT_WRITE;
            let at = libc::mmap(core::ptr::null_mut(), 2 * PAGE, readable, flags, -1, 0);
            assert_ne!(at, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(at.byte_add(PAGE), PAGE, libc::PROT_NONE), 0);
            at.cast()
        }
    }

    #[test]
    fn a_value_is_read_where_there_is_memory() {
        let at = pages();
        // SAFETY: the pages are new and zeroed, so any integer in them is valid; the others have no
        // memory.
        unsafe {
            let end = at.add(PAGE);
            end.sub(8).cast::<u64>().write(7);
            assert_eq!(Look::default().value(end.sub(8).cast::<u64>()), Some(7));
            assert_eq!(Look::default().value(end.sub(4).cast::<u64>()), None);
            assert_eq!(Look::default().value(end.cast::<u64>()), None);
            assert_eq!(Look::default().value(core::ptr::null::<u64>()), None);
            assert_eq!(Look::default().value(usize::MAX as *const u64), None);
            assert_eq!(Look::default().value((1usize << 63) as *const u64), None);
        }
    }

    #[test]
    fn a_string_is_read_up_to_its_end() {
        let at = pages().cast::<c_char>();
        // SAFETY: the pages are new, and nobody else writes to them; the others have no memory.
        unsafe {
            let end = at.add(PAGE);
            end.sub(3).copy_from_nonoverlapping(c"ab".as_ptr(), 3);
            assert_eq!(Look::default().string(end.sub(3)), Some(c"ab"));
            end.sub(1).write(1);
            assert_eq!(Look::default().string(end.sub(3)), None);
            assert_eq!(Look::default().string(end), None);
            assert_eq!(Look::default().string(core::ptr::null()), None);
        }
    }
}
