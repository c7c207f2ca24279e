//! The engines: events in, ledger rows out. No clock, no I/O, no allocation but ledger space; time,
//! thread and call site come with the event.
//!
//! What must be cheap is a method of the calling thread's own state ([`lockdep::ThreadState`]) and
//! takes no lock. What is rare is a method of [`lockdep::Core`] and takes `&mut self`: the host
//! serialises it.

#![no_std]

mod arch;
mod capture;
pub mod core_lock;
pub mod debugobjects;
mod held;
pub mod index;
pub mod lockdep;
pub mod lockmeter;
mod search;
mod shared;
mod shared_row;
mod trial;
pub mod wakes;

pub use self::capture::Capture;
pub use self::shared::Shared;
pub use self::trial::Trial;
