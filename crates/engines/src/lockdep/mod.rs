//! lockdep: records in which contexts locks are acquired, and finds threads that wait in a circle.
//!
//! As in the kernel, a validated chain is remembered by a 64-bit key and costs one look-up from then
//! on. Unlike the kernel, cycles among recorded orders are not searched here but by whoever reads
//! the ledger: the program under test only pays for what it does for the first time.
//!
//! What is recorded is the *context* of an acquisition: the lock, its mode and call site, and the
//! locks held at that time, as a path in a trie ([`lockwright_ledger::rows::Node`]); and for each
//! context the segments of threads that took it ([`lockwright_ledger::rows::Evidence`]). Keys begin
//! with the segment, so that no remembered chain hides what a grade rests on: another thread, or the
//! same thread after a creation or join, records its own evidence once.

mod core;
mod key;
mod thread;
mod walk;

pub use self::core::{Core, Origin};
pub use self::thread::{Probe, ThreadState};

/// Which lock: its instance number and class, as stamped into the lock or kept beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ident {
    /// Instance: one per life of the lock, from 1.
    pub inst: u32,
    /// Class row.
    pub class: u32,
}

/// An acquisition, as the host tells it.
#[derive(Clone, Copy, Debug)]
pub struct Acquire {
    /// Address of the lock.
    pub addr: u64,
    /// Which lock it is.
    pub ident: Ident,
    /// [`lockwright_ledger::rows::mode`] bits.
    pub mode: u16,
    /// Return address of the call.
    pub site: u64,
}

/// Fills a buffer with return addresses, innermost first, and says how many.
pub type Capture<'a> = &'a mut dyn FnMut(&mut [u64]) -> usize;

/// Longest stack that is recorded.
pub const MAX_FRAMES: usize = 48;
