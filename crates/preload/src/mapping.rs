//! The ledger's file and mapping: one sparse file, mapped whole and inaccessible, opened up piece by
//! piece as it is used. So growth needs no descriptor (programs close all of theirs), no remapping,
//! and `mlockall` locks only what is in use.

use lockwright_ledger::layout::{FILE_LENGTHS, SPACE_PARTS};

use crate::sys;

/// Address space is opened up in pieces of this size, so that it stays two kernel mappings.
const STEP: usize = 4 << 20;

/// madvise(2), since Linux 5.14: allocate and map the pages now, or fail.
const MADV_POPULATE_WRITE: i32 = 23;

/// Where the current mapping begins, how long it is, how much of it is accessible.
static mut CURRENT: (*mut u8, usize, usize) = (core::ptr::null_mut(), 0, 0);

/// A mapped ledger file.
pub struct Mapping {
    pub base: *mut u8,
    pub len: usize,
}

/// Creates the file and maps it. The descriptor is closed again.
///
/// # Safety
/// `path` is NUL terminated. Nobody else creates or grows a mapping at the same time.
pub unsafe fn create(path: *const u8) -> Option<Mapping> {
    // SAFETY: the caller's promise.
    let fd = unsafe { sys::create(path) };
    if fd < 0 {
        return None;
    }
    let size_limit = sys::limit(libc::RLIMIT_FSIZE);
    let space_limit = sys::limit(libc::RLIMIT_AS);
    // Address space may be limited, and so may file sizes.
    for len in FILE_LENGTHS {
        let fits = len <= size_limit && len <= space_limit / SPACE_PARTS;
        let len = len as usize;
        if !fits || sys::ftruncate(fd, len) < 0 {
            continue;
        }
        // SAFETY: a new mapping.
        let at =
            unsafe { sys::mmap(len, libc::PROT_NONE, libc::MAP_SHARED | libc::MAP_NORESERVE, fd) };
        if at > 0 {
            sys::close(fd);
            let base = at as *mut u8;
            // SAFETY: our mapping; core dumps are the program's own, not ours. Set before anybody
            // grows it, see above.
            unsafe {
                sys::madvise(base, len, libc::MADV_DONTDUMP);
                CURRENT = (base, len, 0);
            }
            return Some(Mapping { base, len });
        }
    }
    sys::close(fd);
    // SAFETY: the caller's promise.
    unsafe { sys::unlink(path) };
    None
}

/// Makes a range of the current mapping writable and backed by storage ([`lockwright_ledger::writer::Commit`]).
/// A full file system shows here, as a refusal, and not later as a SIGBUS in the program.
pub fn commit(at: *mut u8, len: usize) -> bool {
    // SAFETY: called by the writer of the current mapping, under the engine's lock.
    let (base, whole, open) = unsafe { CURRENT };
    let end = at as usize - base as usize + len;
    if end > whole {
        return false;
    }
    if end > open {
        let new = end.next_multiple_of(STEP).min(whole);
        // SAFETY: within our mapping.
        let done = unsafe {
            sys::mprotect(base.add(open), new - open, libc::PROT_READ | libc::PROT_WRITE)
        };
        if done < 0 {
            return false;
        }
        // SAFETY: as above.
        unsafe { CURRENT.2 = new };
    }
    // SAFETY: within our mapping. EINVAL: a kernel that does not know the advice; go on without.
    let done = unsafe { sys::madvise(at, len, MADV_POPULATE_WRITE) };
    done == 0 || done == -(libc::EINVAL as isize)
}

/// Gives the current mapping back, in a forked child that has no use for its parent's ledger.
///
/// # Safety
/// Nothing points into it any more.
pub unsafe fn forget() {
    // SAFETY: the caller's promise.
    unsafe {
        let (base, len, _) = CURRENT;
        CURRENT = (core::ptr::null_mut(), 0, 0);
        if !base.is_null() {
            sys::munmap(base, len);
        }
    }
}
