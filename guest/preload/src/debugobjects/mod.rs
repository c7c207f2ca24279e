//! debugobjects in the program: tells the engine what becomes of locks and other synchronisation
//! objects, and records the faults that the engine finds.
//!
//! The reports come from three sorts of wrappers: of init and destroy functions ([`lifetime`]), of
//! functions that use an object ([`uses`]), and of those that free memory ([`freed_memory`]). Only objects
//! that went through an init or destroy function are tracked. Statically initialised ones
//! cost nothing: only their [`bytes`] are looked at.
//!
//! Whether an object is in use is looked up only when it matters. A waiter notes itself where it
//! waits ([`waiters`]), and the engine is notified when something happens to the object meanwhile.

mod bytes;
mod engine;
mod faults;
mod lifetimes;
// For the laboratory alone: pools without some of the kernel's patches.
#[cfg_attr(feature = "pool-switches", path = "../../../../lab/unpatched/pools.rs")]
mod pools;
mod threads;
pub mod timer;
pub mod types;
pub mod user_objects;
pub mod waiters;

pub use self::lifetimes::{attribute_calls, frames, freed_memory, init_destroy, lifetime, uses};
use self::lifetimes::{attributes, early_objects, frame_list, object_pages};

use lockwright_ledger::Header;
use lockwright_ledger::layout::engines;
use lockwright_ledger::rows::object::ObjectPools;

pub use self::bytes::{COND_IMPOSSIBLE, ONCE_DONE};
use self::engine::OBJECTS;
pub use self::engine::{ask, is_on, is_wanted, may_be_wanted};
pub use self::types::Type;

use crate::hosts::{Host, nothing};
use crate::recorder::state;

/// What the process's turns mean here.
pub const HOST: Host = Host {
    engine: engines::DEBUGOBJECTS,
    is_wanted,
    start,
    attach: nothing,
    forked,
    thread_ended,
    // They had no part of the pools, as their ends were not to be heard of.
    threads_gone: |_| {},
    finish,
};

/// Other code may come to lie in `[from, to)`, and other objects.
pub fn unloaded(from: u64, to: u64) {
    timer::forget_sites();
    uses::forget_in(from, to);
}

/// The ledger is there: begins, with what was initialised before; or goes on, in a forked child.
fn start(_: &'static Header) {
    if !is_wanted() {
        return;
    }
    faults::start();
    if !OBJECTS.is_on() && !OBJECTS.was_turned_off() {
        OBJECTS.start(&pools::SOURCE, pools::patches());
        early_objects::import();
    }
    publish();
}

/// In a forked child: its only thread goes on with its parent's objects.
fn forked() {
    if is_wanted() {
        // The row is the parent's.
        // SAFETY: no row; and there is one thread.
        unsafe {
            OBJECTS.publish_to(core::ptr::null_mut());
            OBJECTS.forked(threads::local_ptr());
        }
        waiters::forked();
        timer::forked();
    }
}

/// The calling thread ends.
fn thread_ended() {
    freed_memory::thread_ends();
    waiters::unwound();
    threads::end_local();
}

/// The process ends.
fn finish() {
    if is_on() {
        timer::at_exit();
        faults::left_behind();
        OBJECTS.publish();
    }
}

/// Has the engine keep the pools' row of the ledger up to date.
fn publish() {
    let row = state::with_core(|core| {
        let id = core.writer().push(ObjectPools::default()).unwrap_or(0);
        core.ledger().row_ptr::<ObjectPools>(id)
    });
    if let Some(row) = row.filter(|row| !row.is_null()) {
        // SAFETY: a mapped row, of the only ledger that is being written.
        unsafe { OBJECTS.publish_to(row) };
    }
}
