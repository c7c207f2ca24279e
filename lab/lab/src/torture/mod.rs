//! Torture of locks (`kernel/locking/locktorture.c`, whose names the parameters have): many
//! threads, few CPUs, and whatever is bad for a lock meanwhile. What a lock must not do is seen by
//! what is under it.
//!
//! - [`stress`]: writers and readers, trylocks, deadlines that race with unlocks, threads that come and go, holds
//!   that are long, CPUs that are taken away, pauses, other locks held, real-time priorities, and with `signals` a storm
//!   of them, whose handler takes a lock too if that may be, and with `stops` stops its thread wherever it is.
//! - [`freed`]: the last holder of a lock frees its memory, as soon as it has unlocked it.
//! - [`ww`]: what a wound/wait mutex has beyond a mutex (`kernel/locking/test-ww_mutex.c`).
//!
//! The locks are the rows of [`TYPES`], which begins with broken ones: a harness that finds nothing
//! wrong with those finds nothing.

mod affinity;
mod arena;
mod boost;
mod busted;
mod data;
mod freed;
mod irqsave;
mod ops;
mod parameters;
mod random;
mod signals;
mod statistics;
mod stress;
mod types;
mod worker;
pub mod ww;

pub use freed::{Freed, freed};
pub use ops::Ops;
pub use parameters::{MAX_NESTED_LOCKS, Parameters, RtBoost};
pub use statistics::{Side, Statistics};
pub use stress::{Watcher, stress};
pub use types::{Fault, TYPES, Type};
