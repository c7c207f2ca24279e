//! The lab: everything that judges locks.

pub mod bench;
pub mod chart;
mod cpus;
pub mod parts;
pub mod tables;
pub mod torture;
