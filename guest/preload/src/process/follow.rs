//! Which processes are watched. All that the program starts are, unless `LOCKWRIGHT_FOLLOW` says
//! otherwise: `none`, or names of executables, as patterns separated by commas. The process that
//! lockwright started itself (`LOCKWRIGHT_STARTER` is its parent) is watched in any case, whatever
//! it executes.
//!
//! An unwatched process passes the environment on: its children decide for themselves.

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed};

use super::records;
use crate::os::digits::Digits;
use crate::os::sys;

/// The rest of a longer list counts only in the processes that it is passed on to.
const MOST_WANTED: usize = 1024;

/// What `LOCKWRIGHT_FOLLOW` was at start; the program may change its environment.
static mut WANTED: [u8; MOST_WANTED] = [0; MOST_WANTED];

/// Its length, or [`EVERYBODY`].
static WANTED_LEN: AtomicUsize = AtomicUsize::new(EVERYBODY);

/// The process that has started the first one; 0 if that does not matter.
static STARTER: AtomicU32 = AtomicU32::new(0);

/// There was none.
const EVERYBODY: usize = usize::MAX;

/// Children that this process forks are watched: they run the same executable.
static FORKS: AtomicBool = AtomicBool::new(true);

/// Whether to watch this process. Called at start, before any thread.
pub fn is_wanted() -> bool {
    let Some(wanted) = environment(c"LOCKWRIGHT_FOLLOW") else { return true };
    let len = wanted.len().min(MOST_WANTED);
    // SAFETY: no other thread runs at start, `len` is at most `MOST_WANTED`, and the texts are
    // apart.
    unsafe { (&raw mut WANTED).cast::<u8>().copy_from_nonoverlapping(wanted.as_ptr(), len) };
    WANTED_LEN.store(len, Relaxed);
    let mut buffer = [0; 4096];
    let mut is_named = wanted != b"none" && names(wanted, executable(&mut buffer));
    // Scripts and links have their own names here.
    // SAFETY: the kernel's value is null, or a path that lies next to the environment.
    let path = unsafe { libc::getauxval(libc::AT_EXECFN) } as *const core::ffi::c_char;
    if wanted != b"none" && !path.is_null() {
        // SAFETY: the path is not null, so the kernel has put a NUL-terminated text there, which
        // stays.
        is_named |= names(wanted, unsafe { CStr::from_ptr(path) }.to_bytes());
    }
    FORKS.store(is_named, Relaxed);
    let starter = environment(c"LOCKWRIGHT_STARTER").map_or(0, number);
    STARTER.store(starter, Relaxed);
    is_named || is_first()
}

/// Whether this process is the one that lockwright has started. A child of its may ask, too.
pub fn is_first() -> bool {
    STARTER.load(Relaxed) == sys::pids().1
}

/// Whether nobody is watched but the process that lockwright has started.
pub fn is_nobody() -> bool {
    let len = WANTED_LEN.load(Relaxed);
    len != EVERYBODY && wanted(len) == b"none"
}

/// Whether to watch children that this process forks.
pub fn forks() -> bool {
    FORKS.load(Relaxed)
}

/// Whether a program that this process executes at `path` is to be watched.
pub fn is_wanted_at(path: &[u8]) -> bool {
    let len = WANTED_LEN.load(Relaxed);
    if len == EVERYBODY {
        return true;
    }
    let wanted = wanted(len);
    wanted != b"none" && names(wanted, path)
}

/// The first `len` bytes of what the variable was.
fn wanted(len: usize) -> &'static [u8] {
    let wanted = &raw const WANTED;
    // SAFETY: `WANTED` was written once, at start, before there was another thread.
    unsafe { &(&*wanted)[..len] }
}

/// Leaves a record of this process, which is not watched: `<pid> <executable>`.
pub fn tell_unwatched() {
    let mut buffer = [0; 4096];
    let pid = Digits::of(sys::pids().0.into());
    records::append(c"unwatched", [pid.as_bytes(), b" ", executable(&mut buffer), b"\0"]);
}

fn environment(name: &CStr) -> Option<&'static [u8]> {
    // SAFETY: getenv returns null or a NUL-terminated string; nobody else runs yet that sets it.
    unsafe {
        let value = libc::getenv(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value).to_bytes())
    }
}

fn executable(buffer: &mut [u8]) -> &[u8] {
    // SAFETY: the path is a NUL-terminated literal, and the kernel writes only into the buffer, if
    // at all.
    let len = unsafe { sys::readlink(c"/proc/self/exe".as_ptr().cast(), buffer) };
    &buffer[..len.max(0) as usize]
}

fn number(digits: &[u8]) -> u32 {
    digits
        .iter()
        .fold(0u32, |n, b| n.wrapping_mul(10).wrapping_add(u32::from(b.wrapping_sub(b'0'))))
}

/// Whether one of the patterns fits the last part of `path`.
fn names(patterns: &[u8], path: &[u8]) -> bool {
    let start = path.iter().rposition(|&b| b == b'/').map_or(0, |at| at + 1);
    patterns.split(|&b| b == b',').any(|pattern| fits(pattern, &path[start..]))
}

/// Whether all of `name` fits `pattern`: `*` stands for any bytes, `?` for one.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut seen) = (0, 0);
    // Where the last star is, and how much it stands for so far.
    let mut star: Option<(usize, usize)> = None;
    while seen < name.len() {
        match pattern.get(at) {
            Some(b'*') => star = Some((at, seen)),
            Some(&wanted) if wanted == b'?' || wanted == name[seen] => seen += 1,
            _ => {
                let Some((back, until)) = star else { return false };
                star = Some((back, until + 1));
                at = back;
                seen = until + 1;
            }
        }
        at += 1;
    }
    pattern[at..].iter().all(|&rest| rest == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_names_of_executables() {
        for (patterns, path, fit) in [
            ("server", "/usr/bin/server", true),
            ("server", "/usr/bin/serverd", false),
            ("server", "/server/bin", false),
            ("a,server", "server", true),
            ("worker*", "/opt/worker-7", true),
            ("*er-?", "/opt/worker-7", true),
            ("*er-?", "/opt/worker-77", false),
            ("*a*b*", "xxabab", true),
            ("*", "", true),
            ("", "", true),
            ("?", "", false),
        ] {
            assert_eq!(names(patterns.as_bytes(), path.as_bytes()), fit, "{patterns} {path}");
        }
    }
}
