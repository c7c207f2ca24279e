//! The preload library that this binary carries, and how it gets into a program.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::doctor;
use crate::ledger_dir::{RunDir, Surroundings};
use lockwright_analysis::symbolize::PRELOAD_FILE_NAME;
use lockwright_report::error::{Error, Result};

/// Built by the build script.
pub(super) static LIBRARY: &[u8] = include_bytes!(env!("LOCKWRIGHT_PRELOAD_SO"));

/// The unpacked library and the directory it writes ledgers to.
#[derive(Debug)]
pub struct Preload {
    library: PathBuf,
    /// `LOCKWRIGHT_DIR`.
    ledgers: OsString,
    /// The run's directory.
    run: PathBuf,
    /// Keeps the library alive where it is in memory only.
    _memory: Option<File>,
}

impl Preload {
    /// Unpacks the library to the run's directory; where that cannot hold executable files, to a
    /// directory elsewhere, or to memory.
    ///
    /// # Errors
    /// If there is no place for it.
    pub fn unpack(dir: &mut RunDir, around: &Surroundings) -> Result<Self> {
        let (run, ledgers) = (dir.path().to_owned(), dir.for_processes());
        if let Some(home) = dir.executable_home(around, can_be_preloaded) {
            let library = home.join(PRELOAD_FILE_NAME);
            write_library(&library).map_err(|error| {
                let shown = library.display();
                let error = Error::new(format!("cannot write {shown}: {error}"));
                match doctor::no_room() {
                    Some(finding) => finding.explain(error),
                    None => error.help(
                        "free some space there, or choose another place with --ledger-dir DIR",
                    ),
                }
            })?;
            return Ok(Self { library, ledgers, run, _memory: None });
        }
        let memory = in_memory().map_err(|error| {
            Error::new(format!("no place for lockwright's preload library: {error}"))
                .help("name a directory on a file system mounted without noexec: --ledger-dir DIR")
        })?;
        let library = format!("/proc/{}/fd/{}", std::process::id(), memory.as_raw_fd()).into();
        Ok(Self { library, ledgers, run, _memory: Some(memory) })
    }

    /// The same library with another directory for the ledgers.
    pub fn writing_to(&self, ledgers: PathBuf) -> Preload {
        let (library, run) = (self.library.clone(), self.run.clone());
        Self { library, ledgers: ledgers.into(), run, _memory: None }
    }

    /// Has `command` run with the library in it; what that does there, [`super::engines`] tells it.
    pub fn watch(&self, command: &mut Command) {
        let before = std::env::var_os("LD_PRELOAD").unwrap_or_default();
        command
            .env("LD_PRELOAD", preload_list(Some(&self.library), &before))
            .env("LOCKWRIGHT_DIR", &self.ledgers)
            // An outer lockwright's.
            .env_remove("LOCKWRIGHT_FOLLOW");
    }

    /// Has `command` run without, whatever this process runs under.
    pub fn leave_alone(command: &mut Command) {
        let before = std::env::var_os("LD_PRELOAD").unwrap_or_default();
        let list = preload_list(None, &before);
        if list.is_empty() {
            command.env_remove("LD_PRELOAD");
        } else {
            command.env("LD_PRELOAD", list);
        }
    }

    /// Removes the library where it lies in the run's directory: a kept one is for ledgers.
    pub fn remove(&self) {
        if self.library.starts_with(&self.run) {
            // Left there, it is merely useless.
            let _ = std::fs::remove_file(&self.library);
        }
    }
}

/// LD_PRELOAD is a list: what separates its entries cannot be part of one.
fn can_be_preloaded(path: &Path) -> bool {
    !path.as_os_str().as_bytes().iter().any(|b| b" \t\n:".contains(b))
}

/// `library` first, so that its wrappers are the outermost; then what was there, without the
/// library of an outer lockwright: two of them in one program would watch each other.
fn preload_list(library: Option<&Path>, before: &OsStr) -> OsString {
    let others = before
        .as_bytes()
        .split(|b| b" :".contains(b))
        .map(|entry| Path::new(OsStr::from_bytes(entry)))
        .filter(|entry| entry.file_name().is_some_and(|name| name != PRELOAD_FILE_NAME));
    let mut list = OsString::new();
    for entry in library.into_iter().chain(others) {
        if !list.is_empty() {
            list.push(":");
        }
        list.push(entry);
    }
    list
}

fn write_library(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o755).open(path)?;
    file.write_all(LIBRARY)?;
    // The umask must not keep others from reading it: see `ledger_dir.rs`.
    file.set_permissions(std::fs::Permissions::from_mode(0o755))
}

fn in_memory() -> io::Result<File> {
    // SAFETY: a terminated name.
    let fd = unsafe { libc::memfd_create(c"liblockwright.so".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: opened just now, owned by nobody else.
    let mut file = unsafe { File::from_raw_fd(fd) };
    file.write_all(LIBRARY)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_carries_a_shared_library() {
        assert_eq!(&LIBRARY[..4], b"\x7fELF");
    }

    #[test]
    fn what_was_preloaded_stays() {
        let list = |before: &str| preload_list(Some(Path::new("/run/x.so")), OsStr::new(before));
        assert_eq!(list(""), "/run/x.so");
        assert_eq!(list("libjemalloc.so /opt/y.so"), "/run/x.so:libjemalloc.so:/opt/y.so");
        assert_eq!(list("/dev/shm/1-2/liblockwright.so:/opt/y.so"), "/run/x.so:/opt/y.so");
        assert_eq!(preload_list(None, OsStr::new("/a/liblockwright.so")), "");
    }

    #[test]
    fn paths_that_a_list_would_split_are_not_used() {
        assert!(can_be_preloaded(Path::new("/dev/shm/a")));
        assert!(
            !can_be_preloaded(Path::new("/tmp/my dir")) && !can_be_preloaded(Path::new("/a:b"))
        );
    }

    #[test]
    fn memory_can_be_read_back_through_proc() {
        let file = in_memory().unwrap();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        assert_eq!(std::fs::read(path).unwrap(), LIBRARY);
    }
}
