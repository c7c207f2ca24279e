//! Changes between two programs, or two versions of one, and how certain they are.

mod compare;
mod matching;
mod metric;

pub use lockwright_measure::two_samples::{COVERAGE, FEWEST};

pub use compare::{Change, Compared, Comparison, Runs, compare};
pub use metric::{METRICS, Metric};
