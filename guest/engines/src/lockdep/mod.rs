//! lockdep: records in which contexts locks are acquired, and finds threads that wait in a cycle.
//!
//! As in the kernel, a validated chain is remembered by a 64-bit key and costs one look-up from
//! then on. Unlike the kernel, cycles among recorded orders are not searched here but by the
//! ledger's reader: the program under test only pays for what it does for the first time.
//!
//! What is recorded is the *context* of an acquisition: the lock, its mode and call site, and the
//! locks held at that time, as a path in a trie ([`lockwright_ledger::rows::Node`]); and for each
//! context the segments of threads that took it ([`lockwright_ledger::rows::Evidence`]). Keys begin
//! with the segment, so that no remembered chain hides what a grade rests on: another thread, or
//! the same thread after a creation or join, records its own evidence once.
//!
//! A thread's acquisition goes [`ThreadState::probe`], on a miss [`Core::enter`], then
//! [`ThreadState::reserve`], the real lock, and [`ThreadState::acquired`] or
//! [`ThreadState::abandon`]; its release [`ThreadState::release`].

mod annotate;
mod atomic_sleep;
mod barrier;
mod birth;
mod bounds;
mod cache;
mod classes;
mod contexts;
mod core;
mod deadlock;
mod debug_lockdep;
mod entry;
mod holds;
mod interpreted;
mod key;
mod left_held;
mod memory;
mod misuse;
mod once;
mod order;
mod reclaim;
mod row;
mod semaphore;
mod shared;
mod signals;
mod stacks;
mod thread;
mod threads;
mod trial;
mod wait;
mod wakeup;
mod walk;

pub use crate::capture::{Capture, MAX_FRAMES};

pub use self::annotate::MAX_NAME;
pub use self::birth::Stretch;
pub use self::cache::Cache;
pub use self::classes::Origin;
pub use self::core::Core;
pub use self::debug_lockdep::{DEBUG_LOCKDEP, MaskCall};
pub use self::entry::recursions;
pub use self::interpreted::{ASK, Interpreter, Place};
pub use self::left_held::Leaving;
pub use self::misuse::{Holder, Misuse};
pub use self::order::{Round, Tell};
pub use self::row::ThreadRow;
pub use self::semaphore::Tried;
pub use self::signals::Interrupted;
pub use self::thread::{Chain, Probe, ThreadState};
pub use self::wait::FutexWait;

/// Which lock: its instance number (one per life of the lock, from 1) and its class row, as stamped
/// into the lock or kept in a side table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Ident(pub u64);

impl Ident {
    /// No lock.
    pub const NONE: Self = Self(0);

    /// Packs the two.
    pub const fn new(inst: u32, class: u32) -> Self {
        Self((class as u64) << 32 | inst as u64)
    }

    /// Instance.
    #[inline(always)]
    pub const fn inst(self) -> u32 {
        self.0 as u32
    }

    /// Class row.
    #[inline(always)]
    pub const fn class(self) -> u32 {
        (self.0 >> 32) as u32
    }
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
    /// Return address of the call, or what else the host tells call sites apart by.
    pub site: u64,
}
