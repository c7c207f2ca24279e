//! How much of a run's waits the server has: a file in the run's directory. The waits themselves are in its ledgers, so what
//! was not sent is never lost, and needs no more room than the ledgers have.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::ledger_dir::{self, SENT, UNSENT};
use lockwright_report::lockmeter::contention::Totals;
use lockwright_report::lockmeter::push::{Batch, Identity};

/// What the file has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Of this format.
    version: u32,
    /// The URL, as the user gave it.
    pub url: String,
    /// What the profiles go by.
    pub identity: Identity,
    /// What ended before that was sent, ns since the epoch.
    pub until_ns: u64,
    /// What the server has.
    pub sent: Totals,
    /// What is being sent: nobody knows whether the server has it.
    pub pending: Option<Batch>,
}

const VERSION: u32 = 1;

/// What the file of a program with very many locks takes.
const MOST_BYTES: u64 = 256 << 20;

impl Progress {
    /// Nothing was sent yet of a run that began then, ns since the epoch.
    pub fn new(url: String, identity: Identity, begun_ns: u64) -> Self {
        let (sent, pending) = (Totals::default(), None);
        Self { version: VERSION, url, identity, until_ns: begun_ns, sent, pending }
    }

    /// That of the run in `dir`, if it has one. A kept run has it yet when the server has everything.
    pub fn read(dir: &Path) -> Option<Self> {
        let text = |name| ledger_dir::read_own_up_to(dir, name, MOST_BYTES);
        let text = text(UNSENT).or_else(|| text(SENT))?;
        let read: Self = serde_json::from_slice(&text).ok()?;
        (read.version == VERSION).then_some(read)
    }
}

/// A run that this process alone sends.
pub struct Claim {
    dir: PathBuf,
    /// Others see by its lock that the run has somebody.
    _lock: File,
}

impl Claim {
    /// Takes the run in `dir`.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`]: another process sends it.
    pub fn take(dir: &Path) -> io::Result<Self> {
        Ok(Self { dir: dir.to_owned(), _lock: ledger_dir::claim(dir)? })
    }

    /// The directory of the run.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes the file. It is whole at any time.
    ///
    /// # Errors
    /// If that fails; the old one is there yet.
    pub fn write(&self, progress: &Progress) -> io::Result<()> {
        ledger_dir::replace_own(&self.dir, UNSENT, &serde_json::to_vec(progress)?)
    }

    /// Everything was sent: the file gets another name.
    pub fn finish(self) {
        ledger_dir::rename_own(&self.dir, UNSENT, SENT);
    }
}
