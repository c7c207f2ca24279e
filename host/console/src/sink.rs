//! Where a report can go: a standard stream, or a file.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

use crate::error::{Error, Result};
use crate::plain::{self, Styles};
use crate::whole_file::WholeFile;

/// Somewhere to write to.
#[derive(Debug)]
pub enum Sink {
    /// Standard error.
    Stderr,
    /// Standard output.
    Stdout,
    /// A file, and its path for messages.
    File(WholeFile, String),
}

impl Sink {
    /// Checks whether the file of an option that is used so can be written; what is in there stays
    /// for now.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create(path: &Path, usage: &str) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::Stdout);
        }
        let shown = path.display().to_string();
        match WholeFile::open(path) {
            Ok(file) => Ok(Self::File(file, shown)),
            Err(error) => Err(Error::new(format!("cannot write {shown}: {error}"))
                .help(format!("name a writable file: {usage}"))),
        }
    }

    /// Whether it is a terminal.
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Stderr => io::stderr().is_terminal(),
            Self::Stdout => io::stdout().is_terminal(),
            Self::File(..) => false,
        }
    }

    /// Columns of the terminal, if it is one.
    pub fn width(&self) -> Option<usize> {
        let fd = match self {
            Self::Stderr => io::stderr().as_raw_fd(),
            Self::Stdout => io::stdout().as_raw_fd(),
            Self::File(..) => return None,
        };
        let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: room for the answer; fails harmlessly where it is no terminal.
        let known = unsafe { libc::ioctl(fd, libc::TIOCGWINSZ, &mut size) } == 0;
        (known && size.ws_col > 0).then_some(size.ws_col.into())
    }

    /// Writes `text` without control characters, and overwrites what a file had before.
    ///
    /// # Errors
    /// If it cannot be written. A file keeps what it had, if it can.
    pub fn put(&mut self, text: &str) -> Result<()> {
        self.put_styled(text, false)
    }

    /// As [`Self::put`], with our own styles in it if it has `colour`.
    ///
    /// # Errors
    /// Likewise.
    pub fn put_styled(&mut self, text: &str, colour: bool) -> Result<()> {
        self.put_bytes(plain::text(text, styles(colour)).as_bytes())
    }

    /// As [`Self::put`], for what is no text.
    ///
    /// # Errors
    /// Likewise.
    pub fn put_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::File(file, path) => file.put(bytes).map_err(|error| unwritable(path, &error)),
            _ => self.add_bytes(bytes),
        }
    }

    /// As [`Self::put_bytes`], of what `write` writes.
    ///
    /// # Errors
    /// Likewise.
    pub fn put_by(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        match self {
            Self::File(file, path) => file.put_by(write).map_err(|error| unwritable(path, &error)),
            // There is no place left to complain.
            Self::Stderr => {
                let _ = write(&mut io::stderr());
                Ok(())
            }
            Self::Stdout => {
                let mut out = io::stdout().lock();
                written(write(&mut out).and_then(|()| out.flush()))
            }
        }
    }

    /// Writes after what was written before.
    ///
    /// # Errors
    /// As for [`Self::put`].
    pub fn add(&mut self, text: &str) -> Result<()> {
        self.add_styled(text, false)
    }

    /// As [`Self::add`], with our own styles in it if it has `colour`.
    ///
    /// # Errors
    /// As for [`Self::put`].
    pub fn add_styled(&mut self, text: &str, colour: bool) -> Result<()> {
        self.add_bytes(plain::text(text, styles(colour)).as_bytes())
    }

    /// As [`Self::add`], for a command to the terminal or what is no text.
    ///
    /// # Errors
    /// As for [`Self::put`].
    pub fn add_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            // There is no place left to complain.
            Self::Stderr => {
                let _ = io::stderr().write_all(bytes);
                Ok(())
            }
            Self::Stdout => {
                let mut out = io::stdout().lock();
                written(out.write_all(bytes).and_then(|()| out.flush()))
            }
            Self::File(file, path) => file.add(bytes).map_err(|error| unwritable(path, &error)),
        }
    }
}

/// What passes in a text that has colours or none.
const fn styles(colour: bool) -> Styles {
    if colour { Styles::Sgr } else { Styles::None }
}

/// Whether standard output was written.
fn written(done: io::Result<()>) -> Result<()> {
    match done {
        // Its reader has read enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done.map_err(|error| unwritable("standard output", &error)),
    }
}

fn unwritable(path: &str, error: &io::Error) -> Error {
    Error::new(format!("cannot write {path}: {error}"))
}
