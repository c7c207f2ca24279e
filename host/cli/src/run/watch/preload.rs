//! The preload library that this binary carries, and how it gets into a program.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::c_library;
use super::library::Library;
use crate::ledger_dir::{Carried, RunDir, Surroundings};
use lockwright_analysis::symbolize::PRELOAD_FILE_NAME;
use lockwright_console::error::Result;
use lockwright_glibc::library::THREADS_LIBRARY;

/// Has the library look for tables of inlined locks.
pub const INLINED: &str = "LOCKWRIGHT_INLINED";

/// Built by the build script.
pub(in crate::run) static LIBRARY: Carried = Carried {
    name: PRELOAD_FILE_NAME,
    contents: include_bytes!(env!("LOCKWRIGHT_PRELOAD_SO")),
    id: env!("LOCKWRIGHT_PRELOAD_SO_ID"),
};

/// The unpacked library and the directory it writes ledgers to.
#[derive(Debug)]
pub struct Preload {
    library: Library,
    /// `LOCKWRIGHT_DIR`.
    ledgers: OsString,
    /// The run's directory.
    run: PathBuf,
}

impl Preload {
    /// Unpacks the library.
    ///
    /// # Errors
    /// If there is no place for it.
    pub fn unpack(dir: &mut RunDir, around: &Surroundings) -> Result<Self> {
        let (run, ledgers) = (dir.path().to_owned(), dir.for_processes());
        let library = Library::unpack(&LIBRARY, dir, around)?;
        Ok(Self { library, ledgers, run })
    }

    /// The same library with another directory for the ledgers.
    pub fn writing_to(&self, ledgers: PathBuf) -> Preload {
        let (library, run) = (self.library.again(), self.run.clone());
        Self { library, ledgers: ledgers.into(), run }
    }

    /// Has `command` run with the library in it; what that does there, [`super::engines`] tells it.
    pub fn watch(&self, command: &mut Command) {
        let before = std::env::var_os("LD_PRELOAD").unwrap_or_default();
        command
            .env("LD_PRELOAD", preload_list(Some(self.library.path()), threads_library(), &before))
            .env("LOCKWRIGHT_DIR", &self.ledgers)
            // An outer lockwright's.
            .env_remove("LOCKWRIGHT_FOLLOW")
            .env_remove(INLINED);
    }

    /// Has `command` run without, whatever this process runs under.
    pub fn leave_alone(command: &mut Command) {
        let before = std::env::var_os("LD_PRELOAD").unwrap_or_default();
        let list = preload_list(None, None, &before);
        if list.is_empty() {
            command.env_remove("LD_PRELOAD");
        } else {
            command.env("LD_PRELOAD", list);
        }
    }

    /// Removes the library where it lies in the run's directory: a kept one is for ledgers.
    pub fn remove(&self) {
        if self.library.path().starts_with(&self.run) {
            // Left there, it is merely useless.
            let _ = std::fs::remove_file(self.library.path());
        }
    }
}

/// What comes along where the C library has no threads, as if the program were linked with it.
fn threads_library() -> Option<&'static Path> {
    (!c_library::has_threads()).then(|| Path::new(THREADS_LIBRARY))
}

/// `library` first, so that its wrappers are the outermost, and `threads` after it; then what was
/// there, without the library of an outer lockwright: two of them in one program would watch each
/// other.
fn preload_list(library: Option<&Path>, threads: Option<&Path>, before: &OsStr) -> OsString {
    let others = before
        .as_bytes()
        .split(|b| b" :".contains(b))
        .map(|entry| Path::new(OsStr::from_bytes(entry)))
        .filter(|entry| entry.file_name().is_some_and(|name| name != PRELOAD_FILE_NAME))
        .filter(|entry| *entry != Path::new(THREADS_LIBRARY));
    let mut list = OsString::new();
    for entry in library.into_iter().chain(threads).chain(others) {
        if !list.is_empty() {
            list.push(":");
        }
        list.push(entry);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_carries_a_shared_library() {
        assert_eq!(&LIBRARY.contents[..4], b"\x7fELF");
    }

    #[test]
    fn what_was_preloaded_stays() {
        let (ours, threads) = (Path::new("/run/x.so"), Path::new(THREADS_LIBRARY));
        let list = |before: &str| preload_list(Some(ours), None, OsStr::new(before));
        assert_eq!(list(""), "/run/x.so");
        assert_eq!(list("libjemalloc.so /opt/y.so"), "/run/x.so:libjemalloc.so:/opt/y.so");
        assert_eq!(list("/dev/shm/1-2/liblockwright.so:/opt/y.so"), "/run/x.so:/opt/y.so");
        let without = |before: &str| preload_list(None, None, OsStr::new(before));
        assert_eq!(without("/a/liblockwright.so"), "");
        let both = preload_list(Some(ours), Some(threads), OsStr::new("/opt/y.so"));
        assert_eq!(both, "/run/x.so:libpthread.so.0:/opt/y.so");
        assert_eq!(without("/a/liblockwright.so:libpthread.so.0:/opt/y.so"), "/opt/y.so");
    }
}
