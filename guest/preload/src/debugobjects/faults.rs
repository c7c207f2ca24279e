//! Records faults: one row for each kind, type and pair of places.

use core::cell::UnsafeCell;

use lockwright_engines::debugobjects::{Descr, Fault, Operation, Place, Rules, State, Tracked};
use lockwright_engines::index::{Index, hash};
use lockwright_engines::lockdep::Core;
use lockwright_ledger::rows::object::{
    ObjectFinding, ObjectType, object_end, object_fault, object_state, object_type,
};

use super::engine::{OBJECTS, is_inherited};
use super::threads::local;
use super::{types, user_objects};
use crate::callsite::current_stack;
use crate::os::{time, tls};
use crate::recorder::state;
use crate::stack::modules;

/// The recorded faults. Touched under the core's lock.
struct Seen {
    findings: Index,
    types: Index,
}

struct Shared(UnsafeCell<Seen>);

// SAFETY: every access is made under the core's lock, as the comment of `Seen` says.
unsafe impl Sync for Shared {}

#[unsafe(link_section = "lockwright_forked")]
static SEEN: Shared = Shared(UnsafeCell::new(Seen { findings: Index::new(), types: Index::new() }));

/// A ledger begins: nothing is in it.
pub fn start() {
    state::with_core(|_| {
        // SAFETY: `SEEN` is only touched under the core's lock, which is held here, so no other
        // reference to it exists.
        unsafe { *SEEN.0.get() = Seen { findings: Index::new(), types: Index::new() } };
    });
}

/// Records a fault.
#[cold]
pub fn fault(fault: &Fault) {
    // A forked child that has used no lock yet has no ledger.
    if state::status() == state::FORKED {
        state::begin_child();
    }
    // Objects that nobody destroys may go by the thousand: where is kept of the first.
    let is_counted = fault.kind == object_fault::NEVER_DESTROYED;
    // What a forked child does not destroy of its parent's may be its parent's to destroy.
    if is_counted && is_inherited(&fault.init) {
        return;
    }
    if is_counted && state::with_core(|core| repeated(core, fault, 0)) == Some(true) {
        return;
    }
    let stack = if fault.here.stack == 0 { current_stack::record() } else { fault.here.stack };
    if fault.fixed {
        // Recorded before.
        state::with_core(|core| {
            if let Some(id) = row_of(core, fault, stack) {
                core.writer().update::<ObjectFinding>(id, |row| row.fixed = 1);
            }
        });
        return;
    }
    let hint = user_objects::hint(fault);
    // SAFETY: the calling thread's state, or null.
    let thread = unsafe { tls::get().as_mut() };
    state::with_core(|core| {
        if is_counted || !repeated(core, fault, stack) {
            let node = thread.map_or(0, |thread| core.held_context(thread));
            let hint = hint.map_or(0, |hint| hint_stack(core, hint));
            push(core, fault, stack, (node, hint));
        }
    });
}

/// The stack of one frame that stands for a function or variable of the program's.
fn hint_stack(core: &mut Core, hint: u64) -> u32 {
    // As of a call there: frames are return addresses.
    let frames = [hint.wrapping_add(1)];
    modules::cover(core, &frames);
    core.stack(&frames)
}

/// What is the same of two faults that are one finding.
fn key(fault: &Fault, stack: u32) -> u64 {
    let stack = if fault.kind == object_fault::NEVER_DESTROYED { 0 } else { stack };
    hash(&[
        u64::from(fault.kind) << 32 | u64::from(fault.how) << 16 | fault.op as u64,
        core::ptr::from_ref(fault.descr) as u64,
        u64::from(fault.init.stack) << 32 | u64::from(stack),
    ])
}

/// The row of a recorded fault.
fn row_of(core: &Core, fault: &Fault, stack: u32) -> Option<u32> {
    // SAFETY: `SEEN` is only touched under the core's lock, which is held here, so no other
    // reference to it exists.
    let seen = unsafe { &*SEEN.0.get() };
    seen.findings.get(core.ledger(), key(fault, stack))
}

/// Counts a fault that was met before.
fn repeated(core: &mut Core, fault: &Fault, stack: u32) -> bool {
    let Some(id) = row_of(core, fault, stack) else { return false };
    core.writer().update::<ObjectFinding>(id, |row| row.repeats = row.repeats.saturating_add(1));
    true
}

fn push(core: &mut Core, fault: &Fault, stack: u32, (node, hint): (u32, u32)) {
    let is_in_use = fault.was == State::Active;
    let row = ObjectFinding {
        fault: fault.kind,
        op: fault.op as u8,
        was: fault.was as u8,
        how: fault.how,
        type_id: type_row(core, fault.descr),
        thread: fault.here.thread,
        addr: types::shown(fault.descr, fault.addr),
        time_ns: fault.here.time_ns,
        stack,
        node,
        other_thread: if is_in_use { fault.active.thread } else { 0 },
        other_stack: if is_in_use { fault.active.stack } else { 0 },
        init_stack: fault.init.stack,
        init_thread: fault.init.thread,
        init_ns: fault.init.time_ns,
        active_stack: fault.active.stack,
        active_thread: fault.active.thread,
        active_ns: fault.active.time_ns,
        active_op: fault.active_op.map_or(0, |op| op as u32),
        destroy_stack: fault.destroy.stack,
        destroy_thread: fault.destroy.thread,
        destroy_ns: fault.destroy.time_ns,
        fixed: u32::from(fault.fixed),
        expected: u64::from(fault.expected.0) << 32 | u64::from(fault.expected.1),
        hint,
        ..ObjectFinding::default()
    };
    let Some(id) = core.writer().push(row) else { return };
    // SAFETY: `SEEN` is only touched under the core's lock, which is held here, so no other
    // reference to it exists.
    let seen = unsafe { &mut *SEEN.0.get() };
    seen.findings.insert(core.writer(), key(fault, stack), id);
}

/// The row of a type.
fn type_row(core: &mut Core, descr: &'static Descr) -> u32 {
    // SAFETY: `SEEN` is only touched under the core's lock, which is held here, so no other
    // reference to it exists.
    let seen = unsafe { &mut *SEEN.0.get() };
    let key = core::ptr::from_ref(descr) as u64;
    if let Some(id) = seen.types.get(core.ledger(), key) {
        return id;
    }
    let mut row = ObjectType::default();
    if descr.name.is_null() {
        row.builtin = types::number(descr);
    } else {
        row.builtin = object_type::OWN;
        // SAFETY: NUL terminated, and lives as long as the type.
        row.name = core.writer().text(unsafe { core::ffi::CStr::from_ptr(descr.name) }.to_bytes());
    }
    let Some(id) = core.writer().push(row) else { return 0 };
    seen.types.insert(core.writer(), key, id);
    id
}

/// The process ends: records the objects it leaves behind, by type and by where they were
/// initialised.
pub fn left_behind() {
    /// Objects that are looked at: an end is not to take long.
    const MOST: u32 = 1 << 16;
    let now = time::now_ns();
    state::with_core(|core| {
        let mut left = 0;
        OBJECTS.for_each(local(), &mut |tracked| {
            if left < MOST && is_left(tracked) {
                left += 1;
                let fault = end_of(tracked, now);
                if !repeated(core, &fault, 0) {
                    push(core, &fault, 0, (0, 0));
                }
            }
        });
    });
}

/// It should have been destroyed. A variable of static storage need not be: it is meant to last to
/// the end.
fn is_left(tracked: &Tracked) -> bool {
    let must = tracked.descr.rules.has(Rules::MUST_DESTROY);
    let is_alive = !matches!(tracked.state as u8, object_state::NONE | object_state::DESTROYED);
    must && is_alive
        && tracked.destroy.time_ns == 0
        && !is_inherited(&tracked.init)
        && modules::locate(tracked.addr).is_none()
}

/// The fault of an object that is left at the process' end.
fn end_of(tracked: &Tracked, now: u64) -> Fault {
    Fault {
        kind: object_fault::NEVER_DESTROYED,
        op: Operation::NoObjFreed,
        was: tracked.state,
        how: object_end::EXIT,
        on_stack: tracked.on_stack,
        fixed: false,
        addr: tracked.addr,
        descr: tracked.descr,
        here: Place { time_ns: now, ..Default::default() },
        init: tracked.init,
        active: tracked.active,
        active_op: tracked.active_op,
        destroy: tracked.destroy,
        expected: (0, tracked.count),
    }
}
