//! Torture of locks (`kernel/locking/locktorture.c`, whose names the parameters have): many
//! threads, few CPUs, and whatever is bad for a lock meanwhile. What a lock must not do is seen by
//! what is under it.
//!
//! - [`stress`]: writers and readers, trylocks, deadlines that race with unlocks, threads that come and go, holds
//!   that are long, and with `signals` a storm of them, whose handler takes a lock too if that may be.
//! - [`freed`]: the last holder of a lock frees its memory, as soon as it has unlocked it.
//!
//! The locks are the rows of [`TYPES`], which begins with broken ones: a harness that finds nothing
//! wrong with those finds nothing.

mod arena;
mod busted;
mod data;
mod freed;
mod ops;
mod random;
mod signals;
mod statistics;
mod stress;

use std::time::Duration;

pub use freed::{Freed, freed};
pub use ops::{Fault, Ops, TYPES, Type};
pub use statistics::{Side, Statistics};
pub use stress::stress;

/// What is done to a lock, by the kernel's names of module parameters.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// Threads that write.
    pub nwriters_stress: usize,
    /// Threads that read, of a lock that has readers.
    pub nreaders_stress: usize,
    /// How long, in all.
    pub shutdown: Duration,
    /// Acquisitions after which a thread ends and another takes its place, as CPUs go off line and
    /// come back; 0: never.
    pub onoff_interval: u64,
    /// How long a long hold is. They are rare.
    pub long_hold: Duration,
    /// Whether signals come all the time.
    pub signals: bool,
    /// How long a thread may take for its last acquisition before it is given up (`rcutorture`'s
    /// stall timeout).
    pub stall: Duration,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            nwriters_stress: 2 * std::thread::available_parallelism().map_or(1, usize::from),
            nreaders_stress: 2 * std::thread::available_parallelism().map_or(1, usize::from),
            shutdown: Duration::from_secs(1),
            onoff_interval: 0,
            long_hold: Duration::from_millis(1),
            signals: false,
            stall: Duration::from_secs(60),
        }
    }
}
