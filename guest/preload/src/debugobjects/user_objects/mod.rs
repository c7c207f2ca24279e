//! User-defined objects, as its annotations describe them (`interpose/locks/annotated_object.rs`).

mod type_memory;
mod types;

use lockwright_engines::debugobjects::{Act, Descr, Fault, Operation};
use lockwright_ledger::rows::object::{object_end, object_fault};

pub use self::types::{hint, of, unloaded};
use super::engine::{OBJECTS, here, is_on};
use super::threads::local;
use super::{early_objects, faults, frames, freed_memory, object_pages};
use crate::callsite::current_stack;
use crate::stack::stack_bounds;

/// Does `op` to a user-defined object, and returns whether all is well after that.
pub fn tell(descr: &'static Descr, addr: u64, op: Operation, counts: (u32, u32)) -> bool {
    if !is_on() {
        if !OBJECTS.was_turned_off() {
            match op {
                Operation::Init => early_objects::initialised(descr, 1, addr),
                Operation::Destroy | Operation::Free => early_objects::destroyed(descr, addr),
                _ => {}
            }
        }
        return true;
    }
    frames::sweep(None);
    if op == Operation::InitOnStack && stack_bounds::has_now(addr) {
        frames::note(addr);
    }
    // Whatever it is, it may be the first that is heard of a static object.
    object_pages::note(addr, 1);
    // Where the others are done is only wanted if that is wrong, and then it is looked for.
    use Operation::{Activate, Deactivate, Destroy, Init, InitOnStack};
    let is_history = matches!(op, Init | InitOnStack | Activate | Deactivate | Destroy);
    let place = here(if is_history { current_stack::record() } else { 0 });
    let act = Act { descr, addr, op, place, fingerprint: 0, counts };
    // An object that nobody has heard of may have been initialised before the engine began, and
    // forgotten.
    let knows_all = early_objects::knows_all();
    let mut tell = |fault: &Fault| {
        if knows_all || fault.kind != object_fault::UNINITIALISED {
            faults::fault(fault);
        }
    };
    OBJECTS.act(local(), act, &mut tell) || !knows_all
}

/// The program gives memory back to a pool of its own.
pub fn frees(addr: u64, size: u64) {
    freed_memory::check(addr, addr.saturating_add(size), object_end::FREED, None);
}
