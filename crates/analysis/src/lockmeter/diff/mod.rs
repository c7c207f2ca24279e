//! What changed between two programs, or two versions of one, and how sure that is.

mod bootstrap;
mod compare;
mod matching;
mod metric;

pub use bootstrap::{COVERAGE, RESAMPLES};
pub use compare::{Change, Compared, Comparison, Runs, compare};
pub use metric::{METRICS, Metric};
