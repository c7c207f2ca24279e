//! The command-line side of the laboratory of locks: benchmarks, torture and simulations.

pub mod args;
pub mod manual;
pub mod program;
pub mod run;
