//! The cost of locks: [`model`] sums up what ledgers of lockmeter have, [`diff`] compares runs.

pub mod diff;
pub mod model;
