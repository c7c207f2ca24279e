//! A lock class as a report has it.

use super::key::Key;
use crate::finding::{LockOrigin, Name};

/// A merged class.
#[derive(Clone, Debug)]
pub struct ClassGroup {
    /// Name of the class.
    pub name: String,
    /// The name is the program's own (a variable, a member, an annotation), not a description.
    pub is_symbol: bool,
    /// How it is described by the place where its locks are created, if that is not its name.
    pub by_place: Option<String>,
    /// One of [`lockwright_ledger::rows::lock_kind`].
    pub kind: u8,
    /// As [`crate::finding::LockInfo::origin`].
    pub origin: LockOrigin,
    /// Ledger and stack where it was created, stack 0 for static locks.
    pub created: (usize, u32),
    /// Its locks are variables of static duration.
    pub is_static: bool,
    /// Locks that are in it. None once all were given another class by annotation.
    pub locks: u64,
}

impl ClassGroup {
    /// What a report calls the class.
    pub fn name(&self) -> Name {
        Name { text: self.name.clone(), is_symbol: self.is_symbol }
    }
}

/// A row's class, with its name, and the name of the row's own lock.
pub(super) type Made = (Key, ClassGroup, Option<String>);
