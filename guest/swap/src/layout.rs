//! Where the C library keeps the flags of a condition variable, `__wrefs`: it has them elsewhere
//! since 2.41. Ours lie there too, so that one that is the C library's is recognised, and a tool
//! that looks into one of ours sees what it knows.

use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use lockwright_glibc::Version;
use lockwright_glibc::table::{cond, wrefs};

use crate::next;

/// Bytes before the flags: this library has them for itself.
pub const FIRST: usize = 24;

/// Words from there on, one of which has the flags.
pub const WORDS: usize = (cond::OBJECT.size - FIRST) / size_of::<u32>();

/// Which of them, plus 1; 0: not looked up yet.
static WORD: AtomicUsize = AtomicUsize::new(0);

/// Which of the words it is: below [`WORDS`].
#[inline]
pub fn flags_word() -> usize {
    // Relaxed: the number says all.
    match WORD.load(Relaxed) {
        0 => of_version(),
        word => word - 1,
    }
}

/// The word that a field at `offset` is.
const fn word_at(offset: usize) -> usize {
    assert!(FIRST <= offset && offset < cond::OBJECT.size);
    (offset - FIRST) / size_of::<u32>()
}

/// Where the first and the last version of the table have it.
const OLD: usize = word_at(cond::WREFS.at(Version::OLDEST).unwrap());
const NEW: usize = word_at(cond::WREFS.at(Version::NEWEST).unwrap());

/// As the C library's version has it.
#[cold]
fn of_version() -> usize {
    // SAFETY: `gnu_get_libc_version` returns a static NUL-terminated text.
    let text = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
    let version = Version::parse(text.to_bytes()).unwrap_or(Version::OLDEST);
    let word = match cond::WREFS.at(version) {
        Some(offset) => (offset.saturating_sub(FIRST) / size_of::<u32>()).min(WORDS - 1),
        None => OLD,
    };
    WORD.store(word + 1, Relaxed);
    word
}

unsafe extern "C" {
    fn pthread_condattr_init(attr: *mut c_void) -> c_int;
    fn pthread_condattr_setpshared(attr: *mut c_void, pshared: c_int) -> c_int;
    fn pthread_condattr_setclock(attr: *mut c_void, clock: c_int) -> c_int;
    fn pthread_condattr_destroy(attr: *mut c_void) -> c_int;
}

/// Has the C library make a condition variable of ours, and looks where its flags are: that is
/// right also of versions that nobody knows yet. To be called at start.
pub fn try_out() {
    let mut attr = [0u32; 4];
    let mut room = [0u32; cond::OBJECT.size / size_of::<u32>()];
    let (a, c) = ((&raw mut attr).cast(), (&raw mut room).cast());
    // SAFETY: room for both, which only this function uses; nobody waits.
    let made = unsafe {
        let made = pthread_condattr_init(a)
            | pthread_condattr_setpshared(a, libc::PTHREAD_PROCESS_SHARED)
            | pthread_condattr_setclock(a, libc::CLOCK_MONOTONIC)
            | next::pthread_cond_init(c, a);
        pthread_condattr_destroy(a);
        made
    };
    if made != 0 {
        return;
    }
    let has_flags = |&word: &u32| word == wrefs::SHARED | wrefs::MONOTONIC;
    if let Some(word) = room[FIRST / size_of::<u32>()..].iter().position(has_flags) {
        WORD.store(word + 1, Relaxed);
    }
    // SAFETY: the call above has made `c`, in `room`, and nobody waits on it.
    unsafe { next::pthread_cond_destroy(c) };
}

const _: () = assert!(OLD == 3 && NEW == 1, "the module comment of `cond` says so");
