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
use self::lifetimes::{attributes, early_objects};
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

use lockwright_engines::debugobjects::{Local, Objects, Place};
use lockwright_ledger::Header;
use lockwright_ledger::layout::engines;
use lockwright_ledger::rows::object::ObjectPools;

pub use self::bytes::{COND_IMPOSSIBLE, ONCE_DONE};
pub use self::types::Type;

use crate::hosts::{Host, nothing};
use crate::os::{time, tls};

use crate::recorder::state;

/// What the process's turns mean here.
pub const HOST: Host = Host {
    engine: engines::DEBUGOBJECTS,
    is_wanted,
    start,
    attach: nothing,
    forked,
    thread_ended: threads::ended,
    // They had no part of the pools, as their ends were not to be heard of.
    threads_gone: |_| {},
    finish,
};

/// All objects of the process.
static OBJECTS: Objects = Objects::new();

/// Whether the engine was asked for.
static ASKED: AtomicU8 = AtomicU8::new(NOT_YET);
/// Our constructor is still to come: those of the program's libraries may run before it.
const NOT_YET: u8 = 0;
const WANTED: u8 = 1;
const UNWANTED: u8 = 2;

/// Says whether the engine is wanted. Called at start, before it begins.
pub fn ask(is_wanted: bool) {
    ASKED.store(if is_wanted { WANTED } else { UNWANTED }, Relaxed);
}

/// The engine was asked for.
pub fn is_wanted() -> bool {
    ASKED.load(Relaxed) == WANTED
}

/// The engine was asked for, or may be yet: what is initialised until then is to be remembered.
pub fn may_be_wanted() -> bool {
    ASKED.load(Relaxed) != UNWANTED
}

/// Objects are tracked; not by a thread that may make no system calls, as the engine may need some.
#[inline(always)]
pub fn is_on() -> bool {
    OBJECTS.is_on() && !tls::is_barred()
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

/// The calling thread's own part, if it has one.
fn local() -> Option<&'static Local> {
    threads::local()
}

/// The calling thread, here and now, with a stack that is known.
fn here(stack: u32) -> Place {
    // SAFETY: the calling thread's state, or null.
    let thread = unsafe { tls::get().as_ref() }.map_or(0, |thread| thread.id());
    Place { thread, stack, time_ns: time::now_ns() }
}
