//! What is found in programs, with its grade, and what is no finding.

pub mod advice;
mod asleep;
pub mod atomic_sleep;
pub mod callbacks;
pub mod classes;
pub mod constructors;
pub mod deadlocks;
pub mod escapes;
pub mod faults;
pub mod hangs;
pub mod idioms;
pub mod inherited_locks;
pub mod joins;
pub mod leaked;
pub mod missed;
pub mod misuse;
pub mod shared_memory;
pub mod stories;
mod try_first;
pub mod untrue;
pub mod verdicts;
pub mod waits;
pub mod wakeups;
