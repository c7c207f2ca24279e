//! `lockwright diff`: what changed between two programs, or two versions of one.

mod gate;
pub mod json;
pub mod text;

pub use gate::{FailIf, Judged, Verdict};
