//! The engine as its files share it: all objects of the process, and whether objects are tracked.

use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

use lockwright_engines::debugobjects::{Buckets, Moment, Objects, Place};

use crate::os::{time, tls};
use crate::recorder::state;

/// All objects of the process.
pub static OBJECTS: Objects = Objects::new(&BUCKETS);

/// Where they hang. Apart, so that it is no part of the library's file.
static BUCKETS: Buckets = Buckets::new();

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

/// The calling thread, here and now, with a stack that is known. The time is that of the kernel's last tick, but none
/// before the ledger began: those are the parent's.
pub fn here(stack: u32) -> Place {
    // SAFETY: the calling thread's state, or null.
    let thread = unsafe { tls::get().as_ref() }.map_or(0, |thread| thread.id());
    // Relaxed: it is stored before any of the process' objects are tracked.
    let begun_ns = state::header().map_or(0, |header| header.start_ns.load(Relaxed));
    Place { thread, stack, time_ns: time::last_tick_ns().max(begun_ns) }
}

/// It was done before the ledger began, which has neither thread nor place of it.
pub fn is_inherited(moment: &Moment) -> bool {
    moment.thread == 0 && moment.stack == 0
}
