//! `lockwright diff`: what changed between two programs, or two versions of one, and how sure that is.

mod bootstrap;
mod compare;
mod gate;
pub mod json;
mod matching;
mod metric;
pub mod text;

pub use bootstrap::RESAMPLES;
pub use compare::{Change, Compared, Comparison, Runs, compare};
pub use gate::{FailIf, Judged, Verdict};
pub use metric::{METRICS, Metric};
