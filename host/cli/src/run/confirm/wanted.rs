//! What is to be confirmed, and how.

use std::time::Duration;

use super::source::Source;
use crate::args::{RunArgs, SteeringArgs};
use crate::run::watch::child::Program;

/// What is to be confirmed, and how.
#[derive(Clone, Copy, Debug)]
pub struct Confirming<'a> {
    /// Where its findings come from.
    pub source: &'a Source,
    /// Fingerprints of the findings that are meant; none: all.
    pub chosen: &'a [String],
    /// Runs for each finding.
    pub runs: u32,
    /// How threads are held up.
    pub steering: SteeringArgs,
    /// How long all runs may take.
    pub budget: Option<Duration>,
}

impl Confirming<'_> {
    /// All findings of a check, within so much time.
    pub fn within(budget: Duration) -> Self {
        let (runs, steering) = (SteeringArgs::RUNS, SteeringArgs::default());
        Self { source: &Source::Check, chosen: &[], runs, steering, budget: Some(budget) }
    }
}

/// A program whose findings are to be confirmed.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The program.
    pub program: &'a Program,
    /// How it is run.
    pub run: &'a RunArgs,
    /// Whether lifetimes of objects are checked, too.
    pub objects: bool,
    /// What is to be confirmed.
    pub confirming: Confirming<'a>,
}
