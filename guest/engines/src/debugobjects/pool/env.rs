//! What an operation works with, and why it fails.

use super::super::lock::Patience;
use super::source::Source;
use super::switches::Switches;

/// Why an operation cannot be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The source has no memory.
    NoMemory,
    /// A lock cannot be taken.
    Stuck,
}

/// What an operation works with.
#[derive(Clone, Copy)]
pub(crate) struct Env {
    pub source: &'static Source,
    pub switches: Switches,
    pub patience: Patience,
}
