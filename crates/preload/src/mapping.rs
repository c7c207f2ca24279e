//! The ledger's file and mapping: one sparse file, mapped whole and inaccessible, opened up piece by
//! piece as it is used. So growth needs no descriptor (programs close all of theirs), no remapping,
//! and `mlockall` locks only what is in use.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::Header;
use lockwright_ledger::layout::{FILE_LENGTHS, PAGE, SPACE_PARTS, annex, own_bytes, stopped};

use crate::sys;

/// Address space is opened up in pieces of this size, so that it stays two kernel mappings.
const STEP: usize = 4 << 20;

/// madvise(2), since Linux 5.14: allocate and map the pages now, or fail.
const MADV_POPULATE_WRITE: i32 = 23;

/// Where the current mapping begins, how long it is, how much of it is accessible.
#[unsafe(link_section = "lockwright_forked")]
static mut CURRENT: (*mut u8, usize, usize) = (core::ptr::null_mut(), 0, 0);

/// The mapped file: where it begins and how long it is. A forked child has its parent's.
#[unsafe(link_section = "lockwright_forked")]
static mut FILE: (*mut u8, usize) = (core::ptr::null_mut(), 0);

/// A mapped ledger.
pub struct Mapping {
    pub base: *mut u8,
    pub len: usize,
    /// Length of the file that it is the first of; 0 for an annex.
    pub file_len: usize,
    /// What keeps it from being longer, one of [`stopped`].
    pub limited_by: u32,
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
    let mut limited_by = stopped::NO;
    for len in FILE_LENGTHS {
        if len > size_limit {
            limited_by = stopped::FILE_SIZE;
            continue;
        }
        if len > space_limit / SPACE_PARTS {
            limited_by = stopped::ADDRESS_SPACE;
            continue;
        }
        let len = len as usize;
        if sys::ftruncate(fd, len) < 0 {
            // Not for the limit above: for what the file system can have.
            limited_by = stopped::NO_SPACE;
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
                FILE = (base, len);
            }
            let own = own_bytes(len as u64) as usize;
            // SAFETY: as above.
            unsafe { CURRENT = (base, own, 0) };
            return Some(Mapping { base, len: own, file_len: len, limited_by });
        }
        limited_by = stopped::ADDRESS_SPACE;
    }
    sys::close(fd);
    // SAFETY: the caller's promise.
    unsafe { sys::unlink(path) };
    None
}

/// A piece of the parent's file, in a forked child that can create none: it was forked in another root directory or
/// behind a filter of system calls. The file is mapped there, too.
///
/// # Safety
/// As for [`create`]; in a forked child whose parent has a ledger.
pub unsafe fn take_annex() -> Option<Mapping> {
    // SAFETY: the caller's promise.
    let (file, file_len) = unsafe { FILE };
    if file.is_null() {
        return None;
    }
    // SAFETY: a ledger's header is all atomics and stays mapped.
    let header = unsafe { &*file.cast::<Header>() };
    // Relaxed: a count, by which each gets another piece.
    let index = header.annexes.fetch_add(1, Relaxed);
    let (offset, len) = annex(file_len as u64, index)?;
    // SAFETY: within the file's mapping.
    let base = unsafe { file.add(offset as usize) };
    // SAFETY: the caller's promise.
    unsafe { CURRENT = (base, len as usize, 0) };
    Some(Mapping { base, len: len as usize, file_len: 0, limited_by: stopped::NO })
}

/// Makes a range of the current mapping writable and backed by storage ([`lockwright_ledger::writer::Commit`]).
/// A full file system shows here, as a refusal, and not later as a SIGBUS in the program.
pub fn commit(at: *mut u8, len: usize) -> Result<(), u32> {
    // SAFETY: called by the writer of the current mapping, under the engine's lock.
    let (base, whole, open) = unsafe { CURRENT };
    let end = at as usize - base as usize + len;
    if end > whole {
        return Err(stopped::LEDGER_FULL);
    }
    if end > open {
        let new = end.next_multiple_of(STEP).min(whole);
        // SAFETY: within our mapping.
        let done = unsafe {
            sys::mprotect(base.add(open), new - open, libc::PROT_READ | libc::PROT_WRITE)
        };
        if done < 0 {
            return Err(stopped::ADDRESS_SPACE);
        }
        // SAFETY: as above.
        unsafe { CURRENT.2 = new };
    }
    // SAFETY: within our mapping.
    let done = unsafe { sys::madvise(at, len, MADV_POPULATE_WRITE) };
    match i32::try_from(-done).unwrap_or(libc::ENOMEM) {
        0 => Ok(()),
        // A kernel that does not know the advice; go on without.
        libc::EINVAL => Ok(()),
        // A filter of system calls that does not know it.
        libc::EPERM | libc::EACCES | libc::ENOSYS if populate(at, len) => Ok(()),
        _ => Err(stopped::NO_SPACE),
    }
}

/// As the advice, by having the kernel write to each page: it says where it cannot.
fn populate(at: *mut u8, len: usize) -> bool {
    (0..len).step_by(PAGE).all(|offset| {
        // SAFETY: within our mapping, as `commit` says, fresh and page aligned.
        unsafe { sys::write_page(at.add(offset)) }
    })
}

/// Gives the current mapping back, in a process that could not begin its ledger.
///
/// # Safety
/// Nothing points into it any more.
pub unsafe fn forget() {
    // SAFETY: the caller's promise.
    unsafe {
        let (base, _, _) = CURRENT;
        CURRENT = (core::ptr::null_mut(), 0, 0);
        let (file, len) = FILE;
        // An annex is a piece of a file that others have, too.
        if base == file && !file.is_null() {
            FILE = (core::ptr::null_mut(), 0);
            sys::munmap(file, len);
        }
    }
}
