//! A machine that is not there: real lock code in virtual time.
//!
//! The locks of the crate `lockwright` are written over a [`Platform`](lockwright::platform::Platform).
//! Here that platform is a simulated machine ([`Sim`]): sockets, cores and their caches, a scheduler,
//! and, if wanted, a hypervisor that runs virtual CPUs on them. Each atomic operation is an event in
//! virtual time; a thread is a fiber. The same machine, lock, workload and seed give the same
//! result to the last digit.
//!
//! What is modelled, where each constant is from, and how far the results are from what was
//! published is in `docs/lab/simulator.md`.

mod account;
mod arena;
mod cache;
mod cell;
mod cna;
mod delays;
pub mod explore;
mod futex;
pub mod library;
pub mod locks;
pub mod machine;
mod peers;
mod platform;
mod rng;
mod runqueue;
mod setup;
mod spin;
mod store;
mod task;
mod time;
pub mod workload;
mod world;

pub use lockwright::event::Event;

pub use account::{Class, Place, Spent, TaskTimes};
pub use cell::Cell;
pub use delays::Delays;
pub use platform::Sim;
pub use rng::Rng;
pub use setup::{Config, Outcome, Setup, Tell, simulate};
pub use time::{MICROSECOND, MILLISECOND, NANOSECOND, SECOND, Time, seconds};
