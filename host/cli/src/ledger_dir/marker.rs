//! The file by which a run's directory is known as one that lockwright made, and what it says:
//! which directory in it the processes of the run write to, and what their ledgers and records
//! carry to be known by.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use lockwright_ledger::file;

use super::folder::Folder;
use super::token::Token;

/// Its name while the run has not been kept. The run's lockwright holds a lock on it.
pub const LOCK: &str = "lock";

/// Its name in a kept directory, which nobody removes.
pub const KEPT: &str = "run";

/// The marker while it is written.
pub const UNMARKED: &str = "lock.new";

/// Its first line.
const MAGIC: &str = "lockwright run 1";

/// It has three short lines.
const MOST_BYTES: u64 = 256;

/// What it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    /// The name of the directory that processes write to.
    pub ledgers: Token,
    /// In the header of each ledger and before each record.
    pub run: Token,
}

impl Marker {
    /// The marker of a new run.
    ///
    /// # Errors
    /// If the kernel has no random numbers.
    pub fn new() -> io::Result<Self> {
        Ok(Self { ledgers: Token::new()?, run: Token::new()? })
    }

    /// Writes it.
    ///
    /// # Errors
    /// If that fails.
    pub fn write(&self, file: &mut File) -> io::Result<()> {
        file.write_all(format!("{MAGIC}\n{}\n{}\n", self.ledgers, self.run).as_bytes())
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(text).ok()?.lines();
        if lines.next()? != MAGIC {
            return None;
        }
        let mut token = || Token::parse(lines.next()?);
        Some(Self { ledgers: token()?, run: token()? })
    }

    /// What the file `name` in a directory of this user says, with the file, open for writing;
    /// `None` if it is no marker that this user has made.
    pub fn of_own(folder: &Folder, name: &str) -> Option<(Self, File)> {
        let file = folder.own_file(name, libc::O_RDWR).ok()?;
        let marker = Self::parse(&file::read_all(&file, MOST_BYTES).ok()?)?;
        Some((marker, file))
    }

    /// What the marker of the run's directory at this path says, if there is one. It is the
    /// directory's owner's.
    pub fn of(run: &Path) -> Option<Self> {
        let owner = run.metadata().ok()?.uid();
        [LOCK, KEPT].into_iter().find_map(|name| {
            let file = file::open_own(&run.join(name), owner).ok()?;
            Self::parse(&file::read_all(file, MOST_BYTES).ok()?)
        })
    }
}

/// Takes the lock that goes with the open file, and with it when the process ends in whatever way.
pub fn try_lock(file: &File) -> io::Result<()> {
    // SAFETY: flock on a descriptor we own.
    match unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_marker() {
        let marker = Marker::new().unwrap();
        let text = format!("{MAGIC}\n{}\n{}\n", marker.ledgers, marker.run);
        assert_eq!(Marker::parse(text.as_bytes()), Some(marker));
        for other in ["", "lockwright run 1\n", &text.replace('1', "2"), &text[..60], "\u{ff}"] {
            assert_eq!(Marker::parse(other.as_bytes()), None, "{other}");
        }
    }
}
