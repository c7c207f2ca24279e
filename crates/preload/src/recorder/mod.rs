//! What all threads record into: the engine's core, and whether anything is watched.

pub mod slow_cost;
pub mod state;
