//! How times and places look.

use lockwright_analysis::lockmeter::model::At;

/// Nanoseconds to the picosecond: more digits would be noise.
pub fn ns(ns: f64) -> f64 {
    (ns * 1000.0).round() / 1000.0
}

/// Lock, its site, or wait.
pub fn place_of(at: At) -> (Option<usize>, Option<usize>, Option<usize>) {
    match at {
        At::Lock { lock, site } => (Some(lock), Some(site), None),
        At::Wait(wait) => (None, None, Some(wait)),
        At::Unknown => (None, None, None),
    }
}
