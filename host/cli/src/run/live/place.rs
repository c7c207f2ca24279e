//! The ledgers of a run that goes on.

use std::path::{Path, PathBuf};

use lockwright_ledger::{Growth, Ledger, TableId};

use crate::ledger_dir::{glance_at, is_own, writer_of, writer_of_annex};

/// Where a ledger is: a file, and which part of it (`Ledger::open_part`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    path: PathBuf,
    part: u32,
}

impl Place {
    /// The ledger of the process that has created the file.
    pub fn first_of(path: &Path) -> Self {
        Self { path: path.to_owned(), part: 0 }
    }

    /// All in a run's directory, each with its number of deadlocks. A ledger that is being born cannot be read yet.
    pub fn all(dir: &Path) -> Vec<(Self, u32)> {
        let glances = glance_at(dir).unwrap_or_default();
        let of = |(path, peek): (PathBuf, Option<lockwright_ledger::Peek>)| {
            let counts = peek.map_or_else(Vec::new, |peek| peek.deadlocks);
            let place = move |part| Self { path: path.clone(), part };
            (0..).zip(counts).map(move |(part, count)| (place(part), count)).collect::<Vec<_>>()
        };
        glances.into_iter().flat_map(of).collect()
    }

    /// Reads it.
    pub fn open(&self) -> Option<Ledger> {
        Ledger::open_part(&self.path, self.part).ok()
    }

    /// Reads some of its tables.
    pub fn open_tables(&self, tables: &[TableId]) -> Option<Ledger> {
        Ledger::open_tables(&self.path, self.part, tables).ok()
    }

    /// How far it has grown.
    pub fn growth(&self) -> Option<Growth> {
        Ledger::growth(&self.path, self.part).ok()
    }

    /// Whether it is this user's.
    pub fn is_own(&self) -> bool {
        is_own(&self.path)
    }

    /// The process that writes there, as far as it can be known.
    pub fn writer(&self) -> Option<u32> {
        match self.part {
            0 => writer_of(&self.path),
            part => writer_of_annex(&self.path, part, self.open()?.header().pid),
        }
    }
}
