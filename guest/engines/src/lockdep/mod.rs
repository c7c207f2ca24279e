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

mod acquire;
mod bounds;
mod checks;
mod core;
mod ended_holds;
mod holds;
mod key;
mod reclaim;
mod recorded_locks;
mod recorder;
mod segment_marks;
mod thread;

pub use crate::capture::{Capture, MAX_FRAMES, known_stack};

pub use self::acquire::{Acquire, Ident};
pub use self::checks::left_held::Leaving;
pub use self::checks::monitors::Watch;
pub use self::checks::semaphore_posts::Tell;
pub use self::core::Core;
pub use self::recorded_locks::RecordedLocks;
pub use self::recorder::holders::Holder;
pub use self::recorder::misuse::Misuse;
pub use self::recorder::naming::MAX_NAME;
pub use self::recorder::{
    ASK, Image, Interpreter, Loaded, Makers, Origin, Place, Places, Round, SharedPlace, Sharing,
    Shift,
};
pub use self::thread::{
    Cache, Chain, DEBUG_LOCKDEP, ERAS_APART, Folded, FutexWait, INDEX_MASK, INDEX_SHIFT,
    Interrupted, MIX, MaskCall, Probe, Repeated, Section, Stretch, ThreadRow, ThreadState, Tried,
    recursions,
};
