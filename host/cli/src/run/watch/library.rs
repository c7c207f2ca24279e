//! A library that this binary carries, unpacked to where the loader finds it.

use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::ledger_dir::{Carried, RunDir, Surroundings};
use crate::run::doctor;
use lockwright_console::error::{Error, Result};

/// An unpacked library.
#[derive(Debug)]
pub struct Library {
    path: PathBuf,
    /// Keeps it alive where it is in memory only.
    _memory: Option<File>,
}

impl Library {
    /// Unpacks the `library` to the run's directory; where that cannot hold executable files, to a
    /// directory elsewhere, or to memory.
    ///
    /// # Errors
    /// If there is no place for it.
    pub fn unpack(library: &Carried, dir: &mut RunDir, around: &Surroundings) -> Result<Self> {
        let contents = library.contents;
        if let Some(home) = dir.executable_home(around, can_be_preloaded) {
            let path = home.join(library.name);
            if home == dir.path() && dir.give_kept(library) {
                return Ok(Self { path, _memory: None });
            }
            write(&path, contents).map_err(|error| {
                let error = Error::new(format!("cannot write {}: {error}", path.display()));
                match doctor::no_room() {
                    Some(finding) => finding.explain(error),
                    None => error.help(
                        "free some space there, or choose another place with --ledger-dir DIR",
                    ),
                }
            })?;
            return Ok(Self { path, _memory: None });
        }
        let memory = in_memory(contents).map_err(|error| {
            Error::new(format!("no place for lockwright's preload library: {error}"))
                .help("name a directory on a file system mounted without noexec: --ledger-dir DIR")
        })?;
        let path = format!("/proc/{}/fd/{}", std::process::id(), memory.as_raw_fd()).into();
        Ok(Self { path, _memory: Some(memory) })
    }

    /// The same, which lives as long as the first.
    pub fn again(&self) -> Self {
        Self { path: self.path.clone(), _memory: None }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// LD_PRELOAD is a list: what separates its entries cannot be part of one.
fn can_be_preloaded(path: &Path) -> bool {
    !path.as_os_str().as_bytes().iter().any(|b| b" \t\n:".contains(b))
}

fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o755).open(path)?;
    file.write_all(contents)?;
    // The umask must not keep others from reading it: see `ledger_dir.rs`.
    file.set_permissions(std::fs::Permissions::from_mode(0o755))
}

/// The name of the file in memory, as a process' maps show it.
const NAME: &CStr = c"liblockwright.so";

fn in_memory(contents: &[u8]) -> io::Result<File> {
    // SAFETY: `NAME` is a C string, and is only read.
    let fd = unsafe { libc::memfd_create(NAME.as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: opened just now, owned by nobody else.
    let mut file = unsafe { File::from_raw_fd(fd) };
    file.write_all(contents)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_a_list_would_split_are_not_used() {
        assert!(can_be_preloaded(Path::new("/dev/shm/a")));
        assert!(
            !can_be_preloaded(Path::new("/tmp/my dir")) && !can_be_preloaded(Path::new("/a:b"))
        );
    }

    #[test]
    fn memory_can_be_read_back_through_proc() {
        let file = in_memory(b"contents").unwrap();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        assert_eq!(std::fs::read(path).unwrap(), b"contents");
    }
}
