//! The ledgers in a run's directory.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use lockwright_ledger::{Ledger, OpenError, Peek};

use super::folder;
use super::marker::Marker;
use super::token::Token;

/// Extension of ledger files.
pub const EXTENSION: &str = "lwl";

/// The directories that the ledgers of a run may be in: the run's own, where they are copied to,
/// and the one that its marker names.
pub fn places(dir: &Path, marker: Option<&Marker>) -> Vec<PathBuf> {
    let ledgers = marker.map(|marker| dir.join(marker.ledgers.to_string()));
    [Some(dir.to_owned()), ledgers].into_iter().flatten().collect()
}

/// All ledgers in a run's directory, in order of name; without those that are of no process of the
/// run.
///
/// # Errors
/// If the directory cannot be read.
pub fn ledgers_in(dir: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(Ledgers::of(dir).list()?.0.into_iter().map(|(path, _)| path).collect())
}

/// A ledger, and what a glance at it shows; nothing of one that is being born.
pub type Glance = (PathBuf, Option<Peek>);

/// The same, with what a glance at each shows; nothing of those that are being born.
///
/// # Errors
/// As [`ledgers_in`].
pub fn glance_at(dir: &Path) -> io::Result<Vec<Glance>> {
    Ok(Ledgers::of(dir).list()?.0)
}

/// How many files in a run's directory look like ledgers of it, but are of no process of the run.
pub fn foreign_in(dir: &Path) -> usize {
    Ledgers::of(dir).list().map_or(0, |(_, foreign)| foreign)
}

/// The ledgers of a run.
struct Ledgers {
    places: Vec<PathBuf>,
    run: Option<Token>,
}

impl Ledgers {
    fn of(dir: &Path) -> Self {
        let marker = Marker::of(dir);
        Self { places: places(dir, marker.as_ref()), run: marker.map(|marker| marker.run) }
    }

    /// Those of the run, and how many are not.
    fn list(&self) -> io::Result<(Vec<Glance>, usize)> {
        let (mut ledgers, mut foreign) = (Vec::new(), 0);
        for (at, place) in self.places.iter().enumerate() {
            let entries = match fs::read_dir(place) {
                Ok(entries) => entries,
                Err(error) if at == 0 || error.kind() != io::ErrorKind::NotFound => {
                    return Err(error);
                }
                Err(_) => continue,
            };
            for entry in entries {
                let entry = entry?;
                // No symlinks: under root the directory is writable by others.
                if Path::new(&entry.file_name()).extension().is_none_or(|e| e != EXTENSION)
                    || !entry.file_type()?.is_file()
                {
                    continue;
                }
                let path = entry.path();
                let peek = Ledger::peek(&path);
                match self.is_of_run(&path, &peek) {
                    true => ledgers.push((path, peek.ok())),
                    false => foreign += 1,
                }
            }
        }
        ledgers.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok((ledgers, foreign))
    }

    /// Whether the ledger carries what shows that it is of the run. One that is none yet, or cannot
    /// be read, is where only this user can have put it.
    fn is_of_run(&self, ledger: &Path, peek: &Result<Peek, OpenError>) -> bool {
        let Some(run) = self.run else { return true };
        match peek {
            Ok(peek) => Token(peek.run) == run,
            // One that is being created is shorter than a header.
            Err(OpenError::Io(error)) if error.kind() != io::ErrorKind::UnexpectedEof => false,
            Err(_) => is_own(ledger),
        }
    }
}

/// Whether the file is this user's.
pub fn is_own(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.uid() == folder::effective_user())
}
