//! Changes between two programs, or two versions of one, and how certain they are.

mod bootstrap;
mod compare;
mod matching;
mod metric;

pub use bootstrap::{COVERAGE, RESAMPLES};
pub use compare::{Change, Compared, Comparison, Runs, compare};
pub use metric::{METRICS, Metric};
