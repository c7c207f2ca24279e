//! What is measured, and with which locks.

use super::library::LIBRARIES_COMMAND;
use super::sweep::Axes;
use crate::parts::Parts;

/// What is measured, and with which locks.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Everything: hours.
    pub is_full: bool,
    /// As little as shows that everything runs.
    pub is_smoke: bool,
    /// Dimensions whose values the user chose.
    pub axes: Axes,
    /// Only so many cells, chosen at random; none: all.
    pub cells: Option<usize>,
    /// The seed of the order of runs and the choice of cells; the same seed gives the same ones.
    pub seed: u64,
    /// Only locks whose name contains one of these; none: all.
    pub locks: Vec<String>,
    /// Where the locks of C and C++ are.
    pub libraries: Parts,
    /// With plots.
    pub plots: bool,
}

impl Default for Choice {
    fn default() -> Self {
        Self {
            is_full: false,
            is_smoke: false,
            axes: Axes::default(),
            cells: None,
            seed: 1,
            locks: Vec::new(),
            libraries: Parts::new(None, LIBRARIES_COMMAND),
            plots: false,
        }
    }
}

impl Choice {
    pub(super) fn wants(&self, lock: &str) -> bool {
        self.locks.is_empty() || self.locks.iter().any(|text| lock.contains(text.as_str()))
    }
}
