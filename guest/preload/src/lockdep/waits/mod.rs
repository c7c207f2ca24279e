//! Waits for what is no lock: conditions, barriers, semaphores and futexes.

pub mod cond;
pub mod cond_waits;
pub mod futex;
pub mod handed_on;
pub mod handovers;
pub mod monitors;
pub mod taken_signals;
