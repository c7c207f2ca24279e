//! Tables of inlined locks, in the base from one run to the next: a run has a second name of the file among its ledgers. To make
//! the table of a large program takes longer than everything else at its start.
//!
//! They are kept where libraries are ([`super::kept_library`]), and for the same reasons.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};

use super::folder::Folder;
use super::token::Token;

/// Tables that are kept at most; some hundred KiB each.
const MOST: usize = 64;

/// What the name of each begins with.
const PREFIX: &str = "tables-";

/// A base that keeps tables.
#[derive(Debug)]
pub struct KeptTables {
    base: Folder,
    /// What tells the tables of this version from those of others.
    version: &'static str,
}

impl KeptTables {
    /// Those in `base` that this `version` has made.
    pub fn new(base: Folder, version: &'static str) -> Self {
        Self { base, version }
    }

    fn name(&self, build_id: &str) -> OsString {
        format!("{PREFIX}{}-{build_id}", self.version).into()
    }

    /// Gives the table of the file with this build id the name `to` in `ledgers`. False: it was not kept.
    pub fn give(&self, build_id: &str, ledgers: &Folder, to: &str) -> bool {
        self.base.link(&self.name(build_id), ledgers, OsStr::new(to)).is_ok()
    }

    /// Keeps a table.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep(&self, build_id: &str, table: &[u8]) -> io::Result<()> {
        self.make_room();
        let name = self.name(build_id);
        // Under its own name only once it is whole: others may look for it already.
        let new = format!("{PREFIX}{}", Token::new()?);
        let written = self.base.create(&new).and_then(|mut file| file.write_all(table));
        let renamed = written.and_then(|()| self.base.rename(OsStr::new(&new), &self.base, &name));
        renamed.inspect_err(|_| drop(self.base.remove_file(OsStr::new(&new))))
    }

    /// Removes the tables of other versions, and all if there are many.
    fn make_room(&self) {
        let own = format!("{PREFIX}{}-", self.version);
        let is_table = |name: &OsString| name.to_str().is_some_and(|name| name.starts_with(PREFIX));
        let all: Vec<_> =
            self.base.names().unwrap_or_default().into_iter().filter(is_table).collect();
        let is_full = all.len() >= MOST;
        for name in all {
            if is_full || !name.to_str().is_some_and(|name| name.starts_with(&own)) {
                let _ = self.base.remove_file(&name);
            }
        }
    }
}
