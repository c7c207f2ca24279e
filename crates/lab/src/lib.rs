//! The lab: everything that judges locks.

pub mod bench;
pub mod chart;
mod cpus;
pub mod machine;
pub mod parts;
pub mod stats;
pub mod tables;
pub mod torture;
