//! Locks of C and C++, in shared objects: `lab/lab/peers` has their sources.

use std::ffi::{CStr, CString, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::place::ALIGN;
use super::table::{Functions, Peer};
use crate::parts::Parts;

/// What builds them.
pub const LIBRARIES_COMMAND: &str = "cargo xtask bench peers";

/// The shared objects.
const LIBRARIES: [&str; 4] = ["absl", "nsync", "ck", "tbb"];

/// Debian's packages that they are of, whose versions matter.
pub const PACKAGES: &[&str] = &["libabsl-dev", "libnsync-dev", "libck-dev", "libtbb-dev"];

/// A row of a shared object's table: `struct lock_peer` in `lab/lab/peers/peers.h`.
#[repr(C)]
struct Row {
    /// Null ends the table, and then nothing of the rest is read.
    name: *const c_char,
    functions: Functions,
}

/// Those that are there, and why others are not.
#[derive(Default)]
pub struct Libraries {
    /// Their locks.
    pub peers: Vec<Peer>,
    /// Names, and what is missing.
    pub missing: Vec<String>,
}

/// All of them.
pub fn load(parts: &Parts) -> Libraries {
    let mut libraries = Libraries::default();
    for name in LIBRARIES {
        let rows = parts.find(&format!("{name}.so")).and_then(|file| rows(&file));
        match rows {
            Ok(rows) => libraries.peers.extend(rows),
            Err(why) => libraries.missing.push(format!("{name}: {why}")),
        }
    }
    libraries
}

/// The locks of a shared object, which stays loaded.
fn rows(file: &Path) -> Result<Vec<Peer>, String> {
    let library = open(file)?;
    let size = symbol(library, c"lockwright_peer_size", file)?.cast::<usize>();
    // SAFETY: the symbol of this name is a number of this type.
    if unsafe { *size } != size_of::<Row>() {
        return Err(format!("{}: not of this version: `{LIBRARIES_COMMAND}`", file.display()));
    }
    let mut row = symbol(library, c"lockwright_peers", file)?.cast::<Row>();
    let mut peers = Vec::new();
    loop {
        // SAFETY: a row of the table, or the one that ends it. Only its name is read so far.
        let name = unsafe { (&raw const (*row).name).read() };
        if name.is_null() {
            return Ok(peers);
        }
        // SAFETY: names end, and stay as long as the shared object, which is for ever.
        let name = unsafe { CStr::from_ptr(name) };
        // SAFETY: a row with a name has functions.
        let functions = unsafe { (&raw const (*row).functions).read() };
        let name = name.to_str().map_err(|e| format!("{}: {e}", file.display()))?;
        peers.push(Peer { name, is_ours: false, functions });
        // SAFETY: a row that ends the table follows at the latest.
        row = unsafe { row.add(1) };
    }
}

fn open(file: &Path) -> Result<*mut c_void, String> {
    let path = CString::new(file.as_os_str().as_bytes()).map_err(|e| e.to_string())?;
    // SAFETY: what runs as it is loaded is what `lab/lab/peers` and its libraries have.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() { Err(why()) } else { Ok(library) }
}

fn symbol(library: *mut c_void, name: &CStr, file: &Path) -> Result<*const c_void, String> {
    // SAFETY: an open library, and a name that ends.
    let symbol = unsafe { libc::dlsym(library, name.as_ptr()) };
    let none = || format!("{}: it has no {}", file.display(), name.to_string_lossy());
    if symbol.is_null() { Err(none()) } else { Ok(symbol) }
}

/// Why a library was not opened.
fn why() -> String {
    // SAFETY: the calling thread's own message, or none.
    let message = unsafe { libc::dlerror() };
    if message.is_null() {
        return "it cannot be loaded".to_owned();
    }
    // SAFETY: it ends, and stays until the next call.
    unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
}

const _: () = assert!(ALIGN == 128, "as peers.h says");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_is_told_with_what_builds_it() {
        let Libraries { peers, missing } = load(&Parts::new(None, LIBRARIES_COMMAND));
        assert!(peers.is_empty());
        assert_eq!(missing.len(), LIBRARIES.len());
        assert!(missing[0].starts_with("absl: ") && missing[0].contains(LIBRARIES_COMMAND));
    }

    #[test]
    fn what_is_no_library_of_locks_is_refused() {
        let text = rows(Path::new("/proc/self/status")).err().unwrap();
        assert!(text.contains("/proc/self/status"), "{text}");
        let none = rows(Path::new("libc.so.6")).err().unwrap();
        assert!(none.contains("lockwright_peer_size"), "{none}");
    }
}
