//! The engines: events in, ledger rows out. No clock, no I/O, no allocation but ledger space; time,
//! thread and call site come with the event.
//!
//! What must be cheap is a method of the calling thread's own state ([`lockdep::ThreadState`]) and
//! takes no lock. What is rare is a method of [`lockdep::Core`] and takes `&mut self`: the host
//! serialises it.

#![no_std]

pub mod index;
pub mod lockdep;
