//! Arguments of the program's calls, read only where there is memory. Where there is none the call
//! is forwarded as it is, and the program gets the kernel's EFAULT.
//!
//! The kernel is asked by a system call that copies 8 bytes and then fails: `rt_sigprocmask` with no
//! operation. We make that call anyway, so filters that let us run let it pass, too.

use core::ffi::{CStr, c_char};

use super::sys;

/// Bytes of a page.
const PAGE: usize = 4096;

/// A look at memory that is the program's. It asks once for each page in a row.
pub struct Look {
    /// The page that was found last, 0 if none was.
    page: usize,
}

impl Look {
    pub const fn new() -> Self {
        Self { page: 0 }
    }

    /// All of `[at, at + len)` can be read.
    fn reaches(&mut self, at: usize, len: usize) -> bool {
        let Some(last) = at.checked_add(len.saturating_sub(1)) else { return false };
        (at / PAGE..=last / PAGE).all(|page| {
            let found = page != 0 && (self.page == page || sys::can_read_word(page * PAGE));
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
        // SAFETY: it can be read; the caller's promise.
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

/// Whether all of what is at `at` can be read; null cannot.
pub fn is_readable<T>(at: *const T) -> bool {
    Look::new().reaches(at.addr(), size_of::<T>())
}

/// What is at `at`, if it can be read; `None` of null, too.
///
/// # Safety
/// As for [`Look::value`].
pub unsafe fn value<T: Copy>(at: *const T) -> Option<T> {
    // SAFETY: the caller's promise.
    unsafe { Look::new().value(at) }
}

/// The string at `at`, if it can be read; `None` of null, too.
///
/// # Safety
/// As for [`Look::string`].
pub unsafe fn string<'a>(at: *const c_char) -> Option<&'a CStr> {
    // SAFETY: the caller's promise.
    unsafe { Look::new().string(at) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two pages, of which the second cannot be read.
    fn pages() -> *mut u8 {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new mappings.
        unsafe {
            let at = sys::mmap(2 * PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, -1);
            assert!(at > 0);
            assert_eq!(sys::protect_page(at as usize + PAGE, libc::PROT_NONE), 0);
            at as *mut u8
        }
    }

    #[test]
    fn a_value_is_read_where_there_is_memory() {
        let at = pages();
        // SAFETY: zeroed pages, or none.
        unsafe {
            let end = at.add(PAGE);
            end.sub(8).cast::<u64>().write(7);
            assert_eq!(value(end.sub(8).cast::<u64>()), Some(7));
            assert_eq!(value(end.sub(4).cast::<u64>()), None);
            assert_eq!(value(end.cast::<u64>()), None);
            assert_eq!(value(core::ptr::null::<u64>()), None);
            assert_eq!(value(usize::MAX as *const u64), None);
            assert_eq!(value((1usize << 63) as *const u64), None);
        }
    }

    #[test]
    fn a_string_is_read_up_to_its_end() {
        let at = pages().cast::<c_char>();
        // SAFETY: as above.
        unsafe {
            let end = at.add(PAGE);
            end.sub(3).copy_from_nonoverlapping(c"ab".as_ptr(), 3);
            assert_eq!(string(end.sub(3)), Some(c"ab"));
            end.sub(1).write(1);
            assert_eq!(string(end.sub(3)), None);
            assert_eq!(string(end), None);
            assert_eq!(string(core::ptr::null()), None);
        }
    }
}
