//! Statistics of measurements, and the machine that they were made on.

pub mod machine;
pub mod stats;
pub mod two_samples;
