//! The processes of the runs that are joined.

use crate::finding::Origin;
use crate::model::{Model, Sources};
use crate::view::occurrence::Context;

/// A run to be joined with others.
#[derive(Clone, Debug)]
pub struct Given {
    /// As the user named it.
    pub name: String,
    /// How many of the ledgers are its, each of one process.
    pub processes: usize,
}

/// An occurrence of a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Occurrence {
    /// Which ledger has it.
    pub ledger: usize,
    pub context: Context,
}

/// The processes of all runs.
#[derive(Clone, Copy)]
pub struct Processes<'p, 'a> {
    pub sources: &'p Sources<'a>,
    pub models: &'p [Model<'a>],
    /// None of one run alone.
    pub runs: &'p [Given],
    /// By ledger: which run it is of.
    pub run_of: &'p [usize],
}

impl Processes<'_, '_> {
    pub fn origin(&self, ledger: usize) -> Origin {
        let run = if self.runs.is_empty() { 0 } else { self.run_of[ledger] + 1 };
        Origin { run, pid: self.models[ledger].ledger.header().pid }
    }
}
