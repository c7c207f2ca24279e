//! The file that a name stands for, as exec and the C library find it.

use core::ffi::{CStr, c_int};

pub use crate::sys::Failed;
use crate::sys::{self, Open};

/// The path that the C library searches if there is no PATH.
const DEFAULT_PATH: &[u8] = b"/bin:/usr/bin";

/// A longer path to a file is not looked up.
const MOST_PATH: usize = 1024;

/// How a call names a program.
#[derive(Clone, Copy)]
pub enum Name<'n> {
    /// A path, from an open directory on.
    At(c_int, &'n CStr),
    /// A name that is looked for in this PATH, or in the usual one; with a slash in it, a path.
    Searched(c_int, &'n CStr, Option<&'n [u8]>),
    /// An open file.
    Open(c_int),
}

/// A file that was found.
pub enum Found<'n> {
    Here(Open, &'n [u8]),
    Given(c_int),
}

impl<'n> Found<'n> {
    pub fn fd(&self) -> c_int {
        match self {
            Self::Here(open, _) => open.fd(),
            Self::Given(fd) => *fd,
        }
    }

    /// Its name; empty if that is not known.
    pub fn name(&self) -> &'n [u8] {
        match self {
            Self::Here(_, name) => name,
            Self::Given(_) => b"",
        }
    }
}

impl<'n> Name<'n> {
    /// A text file of that name is run by the shell.
    pub fn is_searched(self) -> bool {
        matches!(self, Self::Searched(..))
    }

    /// Opens the file that is executed.
    ///
    /// # Errors
    /// See [`Failed`].
    pub fn open(self) -> Result<Found<'n>, Failed> {
        match self {
            Self::Open(fd) => Ok(Found::Given(fd)),
            Self::Searched(at, name, path) if !name.to_bytes().contains(&b'/') => {
                let folders = path.unwrap_or(DEFAULT_PATH).split(|&b| b == b':');
                let mut found = folders.map(|folder| open_in(at, folder, name));
                let found = found.find(|found| !matches!(found, Err(Failed::Missing)));
                let open = found.unwrap_or(Err(Failed::Missing))?;
                Ok(Found::Here(open, name.to_bytes()))
            }
            Self::At(at, path) | Self::Searched(at, path, _) => {
                let open = sys::open_executable(at, path)?;
                Ok(Found::Here(open, path.to_bytes()))
            }
        }
    }
}

/// The file `name` in `folder`; the empty one is the working directory.
#[inline(never)]
fn open_in(at: c_int, folder: &[u8], name: &CStr) -> Result<Open, Failed> {
    if name.is_empty() {
        return Err(Failed::Missing);
    }
    let mut path = [0; MOST_PATH];
    let slash: &[u8] = if folder.is_empty() { b"" } else { b"/" };
    let mut rest = &mut path[..];
    for part in [folder, slash, name.to_bytes_with_nul()] {
        let (here, behind) = rest.split_at_mut_checked(part.len()).ok_or(Failed::Missing)?;
        here.copy_from_slice(part);
        rest = behind;
    }
    let path = CStr::from_bytes_until_nul(&path).map_err(|_| Failed::Missing)?;
    sys::open_executable(at, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_as_execvp_finds_them() {
        let is_found = |name: &CStr, path: Option<&[u8]>| {
            Name::Searched(libc::AT_FDCWD, name, path).open().is_ok()
        };
        assert!(is_found(c"sh", None));
        assert!(is_found(c"sh", Some(b"/nowhere:/etc::/bin")));
        assert!(!is_found(c"sh", Some(b"/nowhere:/etc")));
        assert!(!is_found(c"passwd", Some(b"/etc")), "a file that nobody may execute");
        assert!(!is_found(c"", Some(b"/bin")) && !is_found(c"bin", Some(b"/")));
        assert!(is_found(c"/bin/sh", Some(b"")), "a path is not looked for");
        let long = [b'x'; MOST_PATH];
        assert!(!is_found(c"sh", Some(&long)));
    }

    #[test]
    fn paths_are_relative_to_a_directory() {
        let bin = sys::open(libc::AT_FDCWD, c"/bin", libc::O_PATH).unwrap_or_else(|_| panic!());
        assert!(Name::At(bin.fd(), c"sh").open().is_ok());
        assert!(Name::At(bin.fd(), c"there-is-none").open().is_err());
    }
}
