//! The recorder of all threads: the engine's core, and whether anything is watched.

pub mod cond_signals;
pub mod measured;
pub mod slow_cost;
pub mod state;
