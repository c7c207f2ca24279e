//! A thread's data for the engine, in initial-exec TLS: its own part of the pools, and which
//! tracked objects lie on its stack ([`super::frame_list`]).

use core::arch::global_asm;
use core::mem::size_of;
use core::ptr::null_mut;

use lockwright_engines::debugobjects::Local;

use super::engine::OBJECTS;
use super::frame_list::Frames;
use crate::threads::{lifetime, unnoticed_ends};

/// A thread's. Zeroed at its start.
#[repr(C)]
pub struct Own {
    local: *mut Local,
    /// The stack, and what is on it.
    pub frames: Frames,
}

global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".balign 8",
    ".globl lockwright_objects",
    ".hidden lockwright_objects",
    ".type lockwright_objects, @object",
    ".size lockwright_objects, {size}",
    "lockwright_objects:",
    ".zero {size}",
    ".text",
    size = const size_of::<Own>(),
);

#[inline(always)]
fn own() -> *mut Own {
    // SAFETY: the address of this thread's copy of the symbol above.
    (unsafe { own_address!("lockwright_objects") }) as *mut Own
}

/// The calling thread's.
#[inline(always)]
pub fn get() -> &'static mut Own {
    // SAFETY: the thread's, as long as it runs. A handler that comes between leaves it as
    // consistent as it is (`Frames` bears that).
    unsafe { &mut *own() }
}

/// The calling thread's part of the pools, null if it has none.
pub fn local_ptr() -> *mut Local {
    get().local
}

/// The calling thread's part of the pools. A thread of whose end we shall not hear has none.
#[inline(always)]
pub fn local() -> Option<&'static Local> {
    let own = get();
    if own.local.is_null() {
        begin_local(own);
    }
    // SAFETY: null, or the thread's until `end_local`.
    unsafe { own.local.as_ref() }
}

#[cold]
#[inline(never)]
fn begin_local(own: &mut Own) {
    if unnoticed_ends::are_heard() && lifetime::hear_of_end() {
        own.local = OBJECTS.start_local();
    }
}

/// The calling thread has no part of the pools any more.
pub fn end_local() {
    let local = core::mem::replace(&mut get().local, null_mut());
    // SAFETY: the thread's own, which is not used any more.
    unsafe { OBJECTS.end_local(local) };
    OBJECTS.publish();
}
