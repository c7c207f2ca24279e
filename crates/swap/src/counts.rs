//! What was replaced and what was not, counted for the command: in a file that all processes of
//! the run have mapped.

use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

use crate::{environment, os};

/// The file.
const FILE: &[u8] = b"LOCKWRIGHT_SWAP_COUNTS=";

/// What is counted; the command reads them in this order (`cli/src/run/swap/counts.rs`).
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
}

/// How many there are.
const COUNTS: usize = Count::SharedConditions as usize + 1;

type Counts = [AtomicU64; COUNTS];

/// Where is counted if there is no file.
static LOST: Counts = [const { AtomicU64::new(0) }; COUNTS];

/// Null: nobody has looked for the file yet.
static COUNTED: AtomicPtr<Counts> = AtomicPtr::new(core::ptr::null_mut());

/// One more.
#[cold]
pub fn count(what: Count) {
    let mut counts = COUNTED.load(Relaxed);
    if counts.is_null() {
        let file = environment::variable(FILE).and_then(map);
        counts = file.unwrap_or((&raw const LOST).cast_mut());
        // Who comes here at once maps it once more, and counts as well.
        COUNTED.store(counts, Relaxed);
    }
    // SAFETY: the static or a mapping that stays, of as many counts.
    let counts = unsafe { &*counts };
    // Relaxed: read when the processes have ended.
    counts[what as usize].fetch_add(1, Relaxed);
}

/// Maps the file.
fn map(file: &CStr) -> Option<*mut Counts> {
    let (read_write, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    let flags = libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    let path = file.as_ptr().addr();
    // SAFETY: a terminated path.
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
    // SAFETY: opened above.
    unsafe { os::call(libc::SYS_close, [fd, 0, 0, 0, 0, 0]) };
    (at > 0).then(|| core::ptr::with_exposed_provenance_mut(at.cast_unsigned()))
}
