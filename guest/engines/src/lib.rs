//! The engines: events in, ledger rows out. No clock, no I/O, no allocation but ledger space; time,
//! thread and call site come with the event.
//!
//! What must be cheap is a method of the calling thread's own state ([`lockdep::ThreadState`]) and
//! takes no lock. What is rare is a method of [`lockdep::Core`] and takes `&mut self`: the host
//! serialises it.

#![no_std]

mod compare;
pub mod core_lock;
pub mod debugobjects;
mod held;
pub mod index;
pub mod lockdep;
pub mod lockmeter;
mod near;
mod shared_row;
pub mod wakes;

pub use lockdep::Capture;

/// What the engines of one process share: the ledger, and the call stacks in it.
pub trait Shared {
    /// The ledger.
    fn writer(&mut self) -> &mut lockwright_ledger::Writer;
    /// Interns the stack that `capture` takes; 0 where there is none or no room.
    fn captured(&mut self, capture: Capture<'_>) -> u32;
}

/// A candidate, of the held locks: the host wants to know whether the function that took it returns
/// with it, and is reminded of this when the lock is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// A return address within the function that is tried.
    pub address: u64,
    /// Where its frame ends, as the host encodes it.
    pub frame: u64,
}
