//! Memory that goes with objects in it: freed, moved, unmapped, the frame of a function that has
//! returned, the stack of a thread that has ended, a module that was unloaded.

use lockwright_engines::debugobjects::{Operation, Place};
use lockwright_ledger::rows::object::object_end;

use crate::debugobjects::engine::{OBJECTS, here, is_on};
use crate::debugobjects::threads::local;
use crate::debugobjects::{Type, faults, threads, waiters};
use crate::lock_id::lock_pages;

/// The memory from `from` to below `to` goes, as `how` says, one of [`object_end`]. The object at
/// `told` was reported already.
#[cold]
pub fn check(from: u64, to: u64, how: u8, told: Option<u64>) {
    if !is_on() || from >= to {
        return;
    }
    if waiters::has_any(from, to) {
        activate_waited(from, to, how != object_end::UNLOADED);
    }
    take_out(from, to, how, told);
}

/// Memory that may go: `realloc` moves it, or leaves it where it is.
#[must_use]
pub struct MayGo {
    from: u64,
    to: u64,
    /// Objects in there that were marked as in use.
    waited: [Option<(&'static Type, u64)>; 16],
}

/// Collects the waiters on objects in there while the memory is still there.
pub fn may_go(from: u64, to: u64) -> MayGo {
    let mut memory = MayGo { from, to, waited: [None; 16] };
    if is_on() && waiters::has_any(from, to) {
        let mut free = memory.waited.iter_mut();
        waiters::find(from, to, true, |kind, addr, place| {
            if let Some(free) = free.next()
                && activate(kind, addr, true, place)
            {
                *free = Some((kind, addr));
            }
        });
    }
    memory
}

impl MayGo {
    /// It has gone, as `how` says; see [`check`].
    pub fn went(self, how: u8, told: Option<u64>) {
        if is_on() {
            take_out(self.from, self.to, how, told);
        }
    }

    /// It has not.
    pub fn stayed(self) {
        for (kind, addr) in self.waited.into_iter().flatten() {
            let op = Operation::Deactivate;
            OBJECTS.apply(local(), &kind.descr, addr, op, Place::default(), 0);
        }
    }
}

fn take_out(from: u64, to: u64, how: u8, told: Option<u64>) {
    OBJECTS.check_no_obj_freed(local(), (from, to), how, here(0), &mut |fault| {
        if told != Some(fault.addr) {
            faults::fault(&fault);
        }
    });
}

/// Tells the engine of those that are waited on. `is_there`: the memory may be looked at yet.
#[cold]
fn activate_waited(from: u64, to: u64, is_there: bool) {
    waiters::find(from, to, is_there, |kind, addr, place| {
        activate(kind, addr, is_there, place);
    });
}

/// Marks the object as in use, by the thread and at the place in `by`. False: the engine cannot
/// know the object, as it was not initialised. `is_there`: its memory may still be read.
pub fn activate(kind: &'static Type, addr: u64, is_there: bool, by: Place) -> bool {
    if OBJECTS.state(local(), kind.descr.type_id, addr).is_none() {
        let Some(ask) = kind.descr.is_static_object else { return false };
        if !is_there {
            // Nobody can be asked any more: it was used like one that is initialised statically.
            OBJECTS.apply(local(), &kind.descr, addr, Operation::Init, Place::default(), 0);
        // SAFETY: somebody uses it, and its memory is still there.
        } else if !unsafe { ask(addr as *mut _) } {
            return false;
        }
    }
    OBJECTS.apply(local(), &kind.descr, addr, Operation::Activate, by, 0);
    true
}

/// The calling thread ends: its stack goes, and its thread-local memory.
pub fn thread_ends() {
    if is_on()
        && let Some((from, to)) = threads::get().frames.all()
        && lock_pages::may_have_objects(from, to)
    {
        check(from, to, object_end::THREAD, None);
    }
}
