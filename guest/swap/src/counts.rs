//! Counts of replaced locks and others, for the command: in a file that all processes of the run
//! have mapped.

use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

use crate::{environment, os};

/// The file.
const FILE: &[u8] = b"LOCKWRIGHT_SWAP_COUNTS=";

/// The counters; the command reads them in this order (`cli/src/run/swap/counts.rs`).
#[derive(Clone, Copy)]
#[repr(usize)]
pub enum Count {
    /// Programs that this library was loaded into.
    Programs,
    /// Objects that were replaced.
    Mutexes,
    Rwlocks,
    Spinlocks,
    Conditions,
    /// Objects that stay the C library's: mutexes by the first of these that they are,
    SharedMutexes,
    RobustMutexes,
    InheritMutexes,
    ProtectMutexes,
    /// and other process-shared objects.
    SharedRwlocks,
    SharedSpinlocks,
    SharedConditions,
    /// Locks that could be replaced and that the patterns do not choose.
    LeftMutexes,
    LeftRwlocks,
    LeftSpinlocks,
    /// Programs that were started without this library.
    ProgramsLeft,
    /// Locks that the command gave no answer about.
    Unanswered,
}

/// Patterns that there can be (`cli/src/run/swap/selection.rs`).
const PATTERNS: usize = 64;

/// How many counts there are: the last ones are of the locks that each pattern decided on.
const COUNTS: usize = Count::Unanswered as usize + 1 + PATTERNS;

type Counts = [AtomicU64; COUNTS];

/// Where is counted if there is no file.
static LOST: Counts = [const { AtomicU64::new(0) }; COUNTS];

/// Null: nobody has looked for the file yet.
static COUNTED: AtomicPtr<Counts> = AtomicPtr::new(core::ptr::null_mut());

/// One more.
pub fn count(what: Count) {
    add(what as usize);
}

/// One more lock that this pattern has decided on.
pub fn count_pattern(pattern: u32) {
    // The command has no others.
    let number = (pattern as usize).min(PATTERNS - 1);
    add(Count::Unanswered as usize + 1 + number);
}

#[cold]
fn add(number: usize) {
    let mut counts = COUNTED.load(Relaxed);
    if counts.is_null() {
        let file = environment::variable(FILE).and_then(map);
        counts = file.unwrap_or((&raw const LOST).cast_mut());
        // A thread that comes here at the same time maps it once more, and counts as well.
        COUNTED.store(counts, Relaxed);
    }
    // SAFETY: the static or a mapping that stays, of as many counts.
    let counts = unsafe { &*counts };
    // Relaxed: read when the processes have ended.
    counts[number].fetch_add(1, Relaxed);
}

/// Maps the file.
fn map(file: &CStr) -> Option<*mut Counts> {
    let (read_write, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    let flags = libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    let path = file.as_ptr().addr();
    // SAFETY: `path` is that of a C string, so it is NUL terminated, and the kernel only reads it.
    let fd = unsafe {
        os::call(libc::SYS_openat, [libc::AT_FDCWD as usize, path, flags as usize, 0, 0, 0])
    };
    let fd = usize::try_from(fd).ok()?;
    // SAFETY: a new mapping, where the kernel wants it.
    let at = unsafe {
        os::call(
            libc::SYS_mmap,
            [0, size_of::<Counts>(), read_write as usize, shared as usize, fd, 0],
        )
    };
    // SAFETY: the descriptor was opened above and is used no more; the mapping stays without it.
    unsafe { os::call(libc::SYS_close, [fd, 0, 0, 0, 0, 0]) };
    (at > 0).then(|| core::ptr::with_exposed_provenance_mut(at.cast_unsigned()))
}
