//! The ledger's file and mapping: one sparse file, of which only the beginning is mapped. The
//! mapping grows in place as rows are written: what it does not use of the address space is the
//! program's, which may limit that at any time (RLIMIT_AS), or lock all that is mapped into memory
//! (mlockall). Growth needs no descriptor (programs close all of theirs), and no address changes.
//!
//! So that it can grow, the mapping lies where the kernel places nothing by itself, [`DISTANCE`]
//! below the libraries; only a program that asks for an address there is in its way.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use lockwright_ledger::Header;
use lockwright_ledger::layout::{
    FILE_LENGTHS, HEADER_BYTES, MAP_STEP, PAGE, SPACE_PARTS, annex, own_bytes, stopped,
};

use super::sys;

/// What is mapped at first, and in one step later.
const STEP: usize = MAP_STEP as usize;

/// From the libraries down to the ledger. The kernel places mappings next to the libraries, from
/// there downward, and reaches the ledger when the program has mapped that much.
const DISTANCE: usize = 256 << 30;

/// From a ledger to that of a forked child below it: the longest file.
const CHILD_DISTANCE: usize = 64 << 30;

/// How many places are tried.
const PLACES: usize = 4;

/// What is mapped ahead where it may not be possible later.
const AHEAD: usize = 64 << 20;

/// madvise(2), since Linux 5.14: allocate and map the pages now, or fail.
const MADV_POPULATE_WRITE: i32 = 23;

/// Where the current ledger begins, and how long it may become.
#[unsafe(link_section = "lockwright_forked")]
static mut CURRENT: (*mut u8, usize) = (core::ptr::null_mut(), 0);

/// How much of the current ledger is mapped.
#[unsafe(link_section = "lockwright_forked")]
static MAPPED: AtomicUsize = AtomicUsize::new(0);

/// The file: where its beginning is mapped, and how long the file is. A forked child has its
/// parent's.
#[unsafe(link_section = "lockwright_forked")]
static mut FILE: (*mut u8, usize) = (core::ptr::null_mut(), 0);

/// A ledger.
pub struct Mapping {
    pub base: *mut u8,
    /// How long it may become.
    pub len: usize,
    /// Length of the file that it is the first of; 0 for an annex.
    pub file_len: usize,
    /// What keeps it from being longer, one of [`stopped`].
    pub limited_by: u32,
}

/// The header of the process's file, or of its parent's as long as it has none. Anybody may ask: a
/// vforked child, too.
pub fn file_header() -> Option<&'static Header> {
    // SAFETY: only a thread that is alone in its process changes it; a header is all atomics, and
    // the beginning of the file stays mapped.
    unsafe { FILE.0.cast::<Header>().as_ref() }
}

/// Creates the file and maps its beginning. The descriptor is closed again.
///
/// # Safety
/// `path` is NUL terminated. Nobody else creates or grows a mapping at the same time.
pub unsafe fn create(path: *const u8) -> Option<Mapping> {
    // SAFETY: the caller promises a NUL-terminated `path`.
    let fd = unsafe { sys::create(path) };
    if fd < 0 {
        return None;
    }
    let size_limit = sys::limit(libc::RLIMIT_FSIZE);
    let mut limited_by = stopped::NO;
    let len = FILE_LENGTHS.iter().map(|&len| len as usize).find(|&len| {
        if len as u64 > size_limit {
            limited_by = stopped::FILE_SIZE;
            return false;
        }
        let fits = sys::ftruncate(fd, len) >= 0;
        if !fits {
            // Not for the limit above: for what the file system can have.
            limited_by = stopped::NO_SPACE;
        }
        fits
    });
    let mapped = len.filter(|_| is_affordable(STEP)).and_then(|len| Some((map(fd)?, len)));
    sys::close(fd);
    let Some((base, len)) = mapped else {
        // SAFETY: the caller promises a NUL-terminated `path`.
        unsafe { sys::unlink(path) };
        return None;
    };
    let own = own_bytes(len as u64) as usize;
    // SAFETY: the caller promises that nobody else creates or grows a mapping, so nobody else uses
    // `FILE`.
    unsafe {
        FILE = (base, len);
        begin(base, own);
    }
    Some(Mapping { base, len: own, file_len: len, limited_by })
}

/// The current ledger is what begins at `base`, of which [`STEP`] bytes are mapped.
///
/// # Safety
/// As for [`create`].
unsafe fn begin(base: *mut u8, len: usize) {
    // SAFETY: the caller promises that nobody else creates or grows a mapping, so nobody else uses
    // `CURRENT`.
    unsafe { CURRENT = (base, len) };
    MAPPED.store(STEP, Relaxed);
}

/// How much of the current ledger is mapped, from its beginning on. It never gets less.
pub fn mapped() -> usize {
    // Relaxed: a thread that sees too small a value treats the rest as absent.
    MAPPED.load(Relaxed)
}

/// Maps the first [`STEP`] bytes of the file.
fn map(fd: isize) -> Option<*mut u8> {
    let (prot, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_NORESERVE);
    let base = map_with_room(STEP, prot, flags, fd)?;
    // Core dumps are the program's own, not ours. And for each page that is written first, a file system on a disk would read
    // ahead the hundred kilobytes around it, of which the file has none.
    // SAFETY: `map_with_room` has just mapped these `STEP` bytes for us.
    unsafe {
        sys::madvise(base, STEP, libc::MADV_DONTDUMP);
        sys::madvise(base, STEP, libc::MADV_RANDOM);
    }
    Some(base)
}

/// A mapping that has room to grow, if there is a place for such.
fn map_with_room(len: usize, prot: i32, flags: i32, fd: isize) -> Option<*mut u8> {
    let mut place = first_place();
    for left in (0..PLACES).rev() {
        // SAFETY: a new mapping; the address is a wish.
        let at = unsafe { sys::mmap_near(place, len, prot, flags, fd) };
        let base = usize::try_from(at).ok().filter(|&at| at != 0)? as *mut u8;
        // In another place than wished it is next to others, and so would not grow.
        if base as usize == place || left == 0 {
            return Some(base);
        }
        // SAFETY: our mapping, which nobody uses yet.
        unsafe { sys::munmap(base, len) };
        place = place.saturating_sub(CHILD_DISTANCE);
    }
    None
}

/// Where to look for a place first.
fn first_place() -> usize {
    // SAFETY: the thread that creates a mapping is alone with it.
    let parents = unsafe { FILE.0 } as usize;
    if parents != 0 {
        return parents.saturating_sub(CHILD_DISTANCE);
    }
    // This library lies among the others.
    let here = &raw const CURRENT as usize / STEP * STEP;
    // In a small address space, as Valgrind's, the free one is above.
    here.checked_sub(DISTANCE).filter(|&place| place >= DISTANCE).unwrap_or(here + DISTANCE)
}

/// A ledger of that many bytes does not take too much of a limited address space.
fn is_affordable(bytes: usize) -> bool {
    bytes as u64 <= sys::limit(libc::RLIMIT_AS) / SPACE_PARTS
}

/// A piece of the parent's file, in a forked child that can create none: it was forked in another
/// root directory or behind a filter of system calls. The beginning of the file is mapped there,
/// too.
///
/// # Safety
/// As for [`create`]; in a forked child whose parent has a ledger.
pub unsafe fn take_annex() -> Option<Mapping> {
    // SAFETY: the caller promises a child with one thread, so nobody writes `FILE`.
    let (file, file_len) = unsafe { FILE };
    if file.is_null() {
        return None;
    }
    // SAFETY: a ledger's header is all atomics and stays mapped.
    let header = unsafe { &*file.cast::<Header>() };
    // Relaxed: a count, by which each gets another piece.
    let index = header.annexes.fetch_add(1, Relaxed);
    let (offset, len) = annex(file_len as u64, index)?;
    // SAFETY: the header is mapped from the beginning of the file on.
    let base = unsafe { map_again(file, offset as usize) }?;
    // SAFETY: the caller promises that nobody else creates or grows a mapping, as `begin` asks.
    unsafe { begin(base, len as usize) };
    Some(Mapping { base, len: len as usize, file_len: 0, limited_by: stopped::NO })
}

/// Maps [`STEP`] bytes at `offset` of the file whose beginning is mapped at `file`, without a
/// descriptor of it.
///
/// # Safety
/// At `file` is a mapping of ours, of [`HEADER_BYTES`] or more.
unsafe fn map_again(file: *mut u8, offset: usize) -> Option<*mut u8> {
    // SAFETY: the caller promises that a mapping of ours is at `file`.
    if let Some(whole) = unsafe { another(file, offset + STEP) } {
        // SAFETY: what is before the piece, which nobody uses.
        unsafe {
            sys::munmap(whole, offset);
            return Some(whole.add(offset));
        }
    }
    // There is not that much address space: one of the piece's length, then given another place in
    // the file.
    // SAFETY: the caller promises a mapping of ours at `file`; the new one is of the same file and
    // nobody's yet.
    unsafe {
        let base = another(file, STEP)?;
        if sys::remap_file_pages(base, STEP, offset / PAGE) < 0 {
            sys::munmap(base, STEP);
            return None;
        }
        Some(base)
    }
}

/// Another mapping of the file whose beginning is mapped at `file`, as long as wished, with room to
/// grow.
///
/// # Safety
/// As for [`map_again`].
unsafe fn another(file: *mut u8, len: usize) -> Option<*mut u8> {
    // mremap(2) puts a new mapping next to the others, unless it replaces one.
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let place = map_with_room(len, libc::PROT_NONE, flags, -1)?;
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // If the old length is 0, the kernel makes another mapping of a shared one.
    // SAFETY: what is replaced is ours, and empty.
    let at = unsafe { sys::mremap_to(file, 0, len, flags, place) };
    if at == place as isize {
        return Some(place);
    }
    // Where memory was short, the kernel may have given the place up first, and another thread have
    // it now.
    if at != -libc::ENOMEM as isize {
        // SAFETY: `place` was just mapped for us, and nobody uses it.
        unsafe { sys::munmap(place, len) };
    }
    None
}

/// Makes a range of the current ledger writable and backed by storage
/// ([`lockwright_ledger::writer::Commit`]). A full file system shows here, as a refusal, and not
/// later as a SIGBUS in the program.
pub fn commit(at: *mut u8, len: usize) -> Result<(), u32> {
    // SAFETY: called by the writer of the current ledger, under the engine's lock.
    let ((base, whole), mapped) = (unsafe { CURRENT }, mapped());
    let end = at as usize - base as usize + len;
    if end > whole {
        return Err(stopped::LEDGER_FULL);
    }
    if end > mapped && !grow(end.next_multiple_of(STEP).min(whole)) {
        return Err(stopped::ADDRESS_SPACE);
    }
    // SAFETY: `at` and `len` lie in the current mapping, which reaches that far by now.
    let done = unsafe { sys::madvise(at, len, MADV_POPULATE_WRITE) };
    let is_stored = match i32::try_from(-done).unwrap_or(libc::ENOMEM) {
        0 => true,
        // A kernel that does not know the advice; go on without.
        libc::EINVAL => true,
        // A filter of system calls that does not know it.
        libc::EPERM | libc::EACCES | libc::ENOSYS => populate(at, len),
        _ => false,
    };
    if is_stored { Ok(()) } else { Err(stopped::NO_SPACE) }
}

/// Has the current mapping become `new` bytes long, in place.
fn grow(new: usize) -> bool {
    // SAFETY: the caller is under the engine's lock, so nobody else writes `CURRENT`.
    let ((base, _), mapped) = (unsafe { CURRENT }, mapped());
    if !is_affordable(new) {
        return false;
    }
    // By its last page, as the kernel may see the mapping as several.
    let extend = || {
        // SAFETY: our mapping's last page, which stays where it is.
        (unsafe { sys::mremap(base.add(mapped - PAGE), PAGE, PAGE + new - mapped, 0) }) > 0
    };
    let is_done = extend() || {
        // Locked memory may be limited, and the program has locked all.
        sys::munlock(base, mapped);
        extend()
    };
    if is_done {
        MAPPED.store(new, Relaxed);
    }
    is_done
}

/// Maps ahead, before the program forbids itself system calls. To be called under the engine's
/// lock.
pub fn map_ahead() {
    // SAFETY: the caller is under the engine's lock, so nobody else writes `CURRENT`.
    let ((base, whole), mapped) = (unsafe { CURRENT }, mapped());
    // A limited address space is the program's.
    if !base.is_null() && mapped < AHEAD && sys::limit(libc::RLIMIT_AS) == libc::RLIM_INFINITY {
        grow(AHEAD.min(whole));
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
    // SAFETY: the caller promises that nothing points into the mapping any more, so nobody uses
    // `CURRENT`.
    unsafe {
        let (base, _) = CURRENT;
        CURRENT = (core::ptr::null_mut(), 0);
        if base.is_null() {
            return;
        }
        if base == FILE.0 {
            FILE = (core::ptr::null_mut(), 0);
        }
        sys::munmap(base, MAPPED.swap(0, Relaxed));
    }
}

const _: () = assert!(HEADER_BYTES <= STEP && STEP.is_multiple_of(PAGE));
