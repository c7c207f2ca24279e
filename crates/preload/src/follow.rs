//! Which processes are watched. All that the program starts are, unless `LOCKWRIGHT_FOLLOW` says otherwise: `none`,
//! or names of executables, as patterns separated by commas. The process that lockwright started itself
//! (`LOCKWRIGHT_STARTER` is its parent) is watched in any case, whatever it executes.
//!
//! Who is not watched passes the environment on: what it starts decides for itself.

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::sys;

/// Children that this process forks are watched: they run the same executable.
static FORKS: AtomicBool = AtomicBool::new(true);

/// What the limit of file sizes must leave for a record: its own length many times over.
const ROOM: u64 = 1 << 20;

/// Whether to watch this process. Called at start, before any thread.
pub fn is_wanted() -> bool {
    let Some(wanted) = environment(c"LOCKWRIGHT_FOLLOW") else { return true };
    let mut buffer = [0; 4096];
    let mut is_named = wanted != b"none" && names(wanted, executable(&mut buffer));
    // Scripts and links have their own names here.
    // SAFETY: the kernel's value is null, or a path that lies beside the environment.
    let path = unsafe { libc::getauxval(libc::AT_EXECFN) } as *const core::ffi::c_char;
    if wanted != b"none" && !path.is_null() {
        // SAFETY: as above; NUL terminated.
        is_named |= names(wanted, unsafe { CStr::from_ptr(path) }.to_bytes());
    }
    FORKS.store(is_named, Relaxed);
    let starter = environment(c"LOCKWRIGHT_STARTER").map_or(0, number);
    is_named || starter == sys::pids().1
}

/// Whether to watch children that this process forks.
pub fn forks() -> bool {
    FORKS.load(Relaxed)
}

/// Leaves a record of this process, which is not watched, in `directory`/unwatched, if that is there:
/// `<pid> <executable>`, NUL terminated.
pub fn tell_unwatched(directory: &[u8]) {
    const NAME: &[u8] = b"/unwatched\0";
    let mut path = [0; 3072 + NAME.len()];
    let len = directory.len().min(3072);
    path[..len].copy_from_slice(&directory[..len]);
    path[len..len + NAME.len()].copy_from_slice(NAME);
    // SAFETY: NUL terminated.
    let fd = unsafe { sys::open_append(path.as_ptr()) };
    if fd < 0 {
        return;
    }
    // Ten digits, a blank, the path and the end.
    let mut record = [0; 10 + 1 + 4096 + 1];
    let mut at = digits(sys::pids().0, &mut record);
    record[at] = b' ';
    at += 1;
    at += executable(&mut record[at..11 + 4096]).len();
    // A write beyond the limit would be a signal for the program. Others may add theirs meanwhile.
    let len = sys::length(fd).saturating_add(ROOM);
    if len <= sys::limit(libc::RLIMIT_FSIZE) {
        // In one piece: others write there, too.
        sys::write(fd, &record[..=at]);
    }
    sys::close(fd);
}

fn environment(name: &CStr) -> Option<&'static [u8]> {
    // SAFETY: getenv returns null or a NUL-terminated string; nobody else runs yet that sets it.
    unsafe {
        let value = libc::getenv(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value).to_bytes())
    }
}

fn executable(buffer: &mut [u8]) -> &[u8] {
    // SAFETY: a NUL-terminated literal.
    let len = unsafe { sys::readlink(c"/proc/self/exe".as_ptr().cast(), buffer) };
    &buffer[..len.max(0) as usize]
}

fn number(digits: &[u8]) -> u32 {
    digits
        .iter()
        .fold(0u32, |n, b| n.wrapping_mul(10).wrapping_add(u32::from(b.wrapping_sub(b'0'))))
}

/// Writes `n` and says how many digits it has.
fn digits(n: u32, to: &mut [u8]) -> usize {
    let len = n.checked_ilog10().unwrap_or(0) as usize + 1;
    let mut rest = n;
    for at in (0..len).rev() {
        to[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    len
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

    #[test]
    fn numbers_to_and_fro() {
        for n in [0, 7, 10, 4_194_304, u32::MAX] {
            let mut buffer = [0; 10];
            let len = digits(n, &mut buffer);
            assert_eq!(&buffer[..len], n.to_string().as_bytes());
            assert_eq!(number(&buffer[..len]), n);
        }
    }
}
