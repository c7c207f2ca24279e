//! How the published figures are compared.

use std::path::PathBuf;
use std::time::Duration;

use crate::bench;
use crate::parts::Parts;

/// How long and how often is measured, and with what.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rounds of each comparison; within a round all its arms take turns.
    pub rounds: usize,
    /// How long threads lock where that is a matter of time, in one round.
    pub interval: Duration,
    /// Just enough to see that everything runs: the figures mean nothing.
    pub smoke: bool,
    /// Only this document.
    pub only: Option<u8>,
    /// The `lockwright` that measures where lockmeter is wanted.
    pub tool: PathBuf,
    /// What else is run.
    pub parts: Parts,
}

impl Options {
    /// The same for what `lockwright-lab bench locks` measures.
    pub(crate) fn of_locks(&self) -> bench::Options {
        bench::Options { rounds: self.rounds, interval: self.interval, ..bench::Options::default() }
    }
}

/// Told what is being measured.
pub type Progress<'p> = &'p mut dyn FnMut(&str);
