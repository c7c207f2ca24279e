//! Objects' lives begin and end: what the wrappers of init and destroy functions tell.
//!
//! Each is reported in two steps, before the C library's function and after it. Only the bytes
//! before the call show what the object was, and only the call's result shows whether anything was
//! done.

use lockwright_engines::debugobjects::{Fault, Operation, Place, State, Tracked};
use lockwright_ledger::rows::object::{object_end, object_fault};

use crate::callsite::current_stack;
use crate::debugobjects::engine::{OBJECTS, here, is_inherited, is_on, may_be_wanted};
use crate::debugobjects::threads::local;
use crate::debugobjects::{
    Type, early_objects, faults, frames, freed_memory, object_pages, uses, waiters,
};
use crate::recorder::state;
use crate::stack::unwind::Frame;
use crate::stack::{modules, stack_bounds};

/// What the first of the two steps has seen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// There is nothing to report.
    Silent,
    /// Nothing that matters.
    Plain,
    /// Its bytes are those of an object that is in its life.
    Alive,
    /// The engine has not heard of it.
    Unknown,
    /// What was there was reported, as a lock that is held.
    Held,
    /// What the engine knows of it is over: that was reported, or there is another object now.
    Over,
}

/// An object is about to be initialised, in the call `from` of the program's if that is known. `is_over`: its memory says that
/// the one before was destroyed.
#[inline(always)]
pub fn initialises(kind: &'static Type, addr: u64, from: Option<Frame>, is_over: bool) -> Before {
    if !is_on() {
        return Before::Plain;
    }
    frames::sweep(from);
    if !is_over && !object_pages::is_noted(addr) {
        return Before::Plain;
    }
    if waiters::has_any(addr, addr + 1) && tells_of_waiter(kind, addr, init_op(addr)) {
        return Before::Over;
    }
    // SAFETY: the caller's memory, of an object's size.
    if !is_over && unsafe { kind.is_used(addr) } { Before::Alive } else { Before::Plain }
}

fn init_op(addr: u64) -> Operation {
    if stack_bounds::has_now(addr) { Operation::InitOnStack } else { Operation::Init }
}

/// An object has been initialised. `stack` is where, if that is known already.
#[inline(never)]
pub fn initialised(kind: &'static Type, addr: u64, before: Before, stack: Option<u32>) {
    initialised_here(kind, addr, before, stack);
}

/// As [`initialised`], compiled for the caller: for what is done most.
#[inline(always)]
pub fn initialised_here(kind: &'static Type, addr: u64, before: Before, stack: Option<u32>) {
    if !is_on() {
        return initialised_unwatched(kind, addr);
    }
    uses::forget(addr);
    // SAFETY: `initialised` is called after the program's call has initialised an object of `kind`
    // at `addr`.
    let is_shared = unsafe { kind.is_shared(addr) };
    let op = init_op(addr);
    if matches!(before, Before::Over | Before::Held) || is_shared {
        forget_former(kind, addr, before, op);
    }
    if is_shared || before == Before::Silent {
        return;
    }
    if op == Operation::InitOnStack {
        frames::note(addr);
    }
    let place = here_and_now(stack);
    // What was tracked before is on a page that was noted.
    if !OBJECTS.renew_life(local(), &kind.descr, addr, op, place) {
        initialised_first(kind, addr, before, op, place);
    }
}

/// An object has been initialised while no objects are tracked.
#[cold]
#[inline(never)]
fn initialised_unwatched(kind: &'static Type, addr: u64) {
    if may_be_wanted() {
        early_objects::initialised(&kind.descr, kind.size, addr);
    }
}

/// What is known of an object is over.
#[cold]
#[inline(never)]
fn forget_former(kind: &'static Type, addr: u64, before: Before, op: Operation) {
    if before == Before::Held && op == Operation::InitOnStack {
        freed_memory::check(addr, addr + 1, object_end::REUSED_ON_STACK, None);
    }
    OBJECTS.apply(local(), &kind.descr, addr, Operation::Free, Place::default(), 0);
}

/// An object has been initialised where none was destroyed before, for all that is at hand.
#[inline(never)]
fn initialised_first(kind: &'static Type, addr: u64, before: Before, op: Operation, place: Place) {
    object_pages::note(addr, kind.size);
    // Had it been destroyed before, by the bytes that were there, that does not matter now.
    if let Some(known) = OBJECTS.begin_life(local(), &kind.descr, addr, op, place) {
        initialised_again(kind, &known, before, op, place);
    }
}

/// An object has been initialised where one was, which nobody had destroyed.
#[cold]
fn initialised_again(
    kind: &'static Type,
    known: &Tracked,
    before: Before,
    op: Operation,
    place: Place,
) {
    let addr = known.addr;
    // A frame's memory is reused without notice, with its old content. So is the memory of a
    // variable whose block has ended, and that of a program's own allocator, but not modules'
    // memory. Nothing tells these from an object that is initialised twice.
    let is_new =
        op == Operation::InitOnStack || modules::find(addr).is_none() && before != Before::Alive;
    // A child of fork initialises its locks again: it has no other threads, and their holder is
    // not known.
    if is_inherited(&known.init) {
        OBJECTS.apply(local(), &kind.descr, addr, Operation::Free, Place::default(), 0);
    } else if is_new {
        let how = match op {
            Operation::InitOnStack => object_end::REUSED_ON_STACK,
            _ => object_end::REUSED,
        };
        freed_memory::check(addr, addr + 1, how, None);
    }
    if let Some(fault) = OBJECTS.apply(local(), &kind.descr, addr, op, place, 0) {
        faults::fault(&fault);
    }
}

/// A lock that was met, by its own bytes, is about to be destroyed. So it was initialised, if only
/// statically, and not destroyed since.
#[inline(always)]
pub fn destroys_met(kind: &'static Type, addr: u64, from: Option<Frame>) -> Before {
    if !is_on() {
        return Before::Plain;
    }
    frames::sweep(from);
    // SAFETY: the program is about to destroy an object of `kind` at `addr`, so its memory is
    // there.
    if unsafe { kind.is_shared(addr) } {
        return Before::Silent;
    }
    match waiters::has_any(addr, addr + 1) && tells_of_waiter(kind, addr, Operation::Destroy) {
        true => Before::Plain,
        false => Before::Alive,
    }
}

/// An object is about to be destroyed.
pub fn destroys(kind: &'static Type, addr: u64, from: Option<Frame>) -> Before {
    match destroys_met(kind, addr, from) {
        Before::Alive => {}
        before => return before,
    }
    match OBJECTS.state(local(), kind.descr.type_id, addr).map(|known| known.state) {
        None => destroys_unknown(kind, addr),
        Some(State::Destroyed) => destroys_destroyed(kind, addr),
        _ => Before::Plain,
    }
}

/// The engine has not heard of an object that is about to be destroyed: it was initialised
/// statically, or not at all.
#[cold]
fn destroys_unknown(kind: &'static Type, addr: u64) -> Before {
    // SAFETY: `ask` belongs to the object's own type, and the program is about to destroy an object
    // of it.
    let is_static = unsafe { kind.descr.is_static_object.is_some_and(|ask| ask(addr as *mut _)) };
    if is_static || !early_objects::knows_all() || modules::is_shared(addr) {
        return Before::Unknown;
    }
    let op = Operation::Destroy;
    if let Some(fault) = OBJECTS.apply(local(), &kind.descr, addr, op, here(0), 0) {
        faults::fault(&fault);
    }
    Before::Unknown
}

/// An object was destroyed here before: that one again, or by its bytes another.
#[cold]
fn destroys_destroyed(kind: &'static Type, addr: u64) -> Before {
    // SAFETY: the program is about to destroy an object of `kind` at `addr`, so its memory is
    // there.
    let fingerprint = unsafe { kind.fingerprint(addr) };
    let op = Operation::AssertInit;
    match OBJECTS.apply(local(), &kind.descr, addr, op, here(0), fingerprint) {
        Some(fault) if fault.was == State::Destroyed => {
            let kind = object_fault::DESTROY_TWICE;
            faults::fault(&Fault { kind, op: Operation::Destroy, ..fault });
            Before::Silent
        }
        _ => Before::Unknown,
    }
}

/// An object has been destroyed. `stack` is where, if that is known already.
#[inline(never)]
pub fn destroyed(kind: &'static Type, addr: u64, before: Before, stack: Option<u32>) {
    destroyed_here(kind, addr, before, stack);
}

/// As [`destroyed`], compiled for the caller.
#[inline(always)]
pub fn destroyed_here(kind: &'static Type, addr: u64, before: Before, stack: Option<u32>) {
    if !is_on() {
        return destroyed_unwatched(kind, addr);
    }
    uses::forget(addr);
    if before == Before::Silent {
        return;
    }
    let place = here_and_now(stack);
    // SAFETY: the caller still owns the memory.
    let fingerprint = unsafe { kind.fingerprint(addr) };
    if before == Before::Unknown
        || !OBJECTS.end_life(local(), &kind.descr, addr, place, fingerprint)
    {
        destroyed_otherwise(kind, addr, before, place, fingerprint);
    }
}

/// An object has been destroyed while no objects are tracked.
#[cold]
#[inline(never)]
fn destroyed_unwatched(kind: &'static Type, addr: u64) {
    if may_be_wanted() {
        early_objects::destroyed(&kind.descr, addr);
    }
}

/// An object has been destroyed whose life has not begun as it should, for all that is known.
#[cold]
#[inline(never)]
fn destroyed_otherwise(
    kind: &'static Type,
    addr: u64,
    before: Before,
    place: Place,
    fingerprint: u64,
) {
    let is_unknown = || {
        let known = OBJECTS.state(local(), kind.descr.type_id, addr);
        known.is_none_or(|known| known.state == State::Destroyed)
    };
    if before == Before::Unknown || before == Before::Alive && is_unknown() {
        begin_before(kind, addr);
    }
    if let Some(fault) =
        OBJECTS.apply(local(), &kind.descr, addr, Operation::Destroy, place, fingerprint)
    {
        faults::fault(&fault);
    }
}

/// An object of which the engine has not heard has been destroyed. As if it had been initialised, by nobody and never: its
/// bytes are those of a destroyed one now.
fn begin_before(kind: &'static Type, addr: u64) {
    let never = Place::default();
    OBJECTS.apply(local(), &kind.descr, addr, Operation::Free, never, 0);
    OBJECTS.apply(local(), &kind.descr, addr, Operation::Init, never, 0);
    object_pages::note(addr, kind.size);
    if stack_bounds::has_now(addr) {
        frames::note(addr);
    }
}

/// Where the calling thread is, in the call `from` of the program's, if that stack is recorded already and wanted.
///
/// # Safety
/// The call has not returned. Its frame pointer may be anything.
#[inline(never)]
pub unsafe fn known_place(from: Option<Frame>) -> Option<u32> {
    // SAFETY: the caller promises a call that has not returned.
    is_on().then(|| unsafe { current_stack::known_at(from) })?
}

/// Where the calling thread is. A forked child that has used no lock yet has no ledger: now it
/// needs one.
#[inline(always)]
fn here_and_now(stack: Option<u32>) -> Place {
    if state::status() == state::FORKED {
        state::begin_child();
    }
    here(stack.unwrap_or_else(current_stack::record))
}

/// An object comes into use, once more perhaps, or is in use no more.
pub fn set_active(kind: &'static Type, addr: u64, is_active: bool) {
    let was_active = match uses::state(kind, addr) {
        None | Some(State::Destroyed) => return,
        state => state == Some(State::Active),
    };
    if was_active || is_active {
        let place = here_and_now(None);
        if was_active {
            OBJECTS.apply(local(), &kind.descr, addr, Operation::Deactivate, place, 0);
        }
        if is_active {
            OBJECTS.apply(local(), &kind.descr, addr, Operation::Activate, place, 0);
        }
    }
}

/// An object is gone, and that is no fault.
pub fn forget(kind: &'static Type, addr: u64) {
    uses::forget(addr);
    OBJECTS.apply(local(), &kind.descr, addr, Operation::Free, Place::default(), 0);
}

/// Finds objects of a type in the states that `is_one` accepts, as many as there is room for.
/// Returns how many.
fn find(kind: &Type, is_one: fn(State) -> bool, found: &mut [u64]) -> usize {
    let mut n = 0;
    OBJECTS.for_each(local(), &mut |tracked| {
        if core::ptr::eq(tracked.descr, &kind.descr) && is_one(tracked.state) && n < found.len() {
            found[n] = tracked.addr;
            n += 1;
        }
    });
    n
}

/// All objects of a type are there no more.
pub fn forget_all(kind: &'static Type) {
    let mut found = [0; SOME];
    loop {
        let n = find(kind, |_| true, &mut found);
        found[..n].iter().for_each(|&addr| forget(kind, addr));
        if n < found.len() {
            return;
        }
    }
}

/// Objects that are looked for at a time.
const SOME: usize = 64;

/// Marks objects of a type that are no longer in use, by `is_idle`, as idle; only some, if they are
/// many.
pub fn deactivate_idle(kind: &'static Type, is_idle: impl Fn(u64) -> bool) {
    let mut found = [0; SOME];
    let n = find(kind, |state| state == State::Active, &mut found);
    for &addr in found[..n].iter().filter(|&&addr| is_idle(addr)) {
        OBJECTS.apply(local(), &kind.descr, addr, Operation::Deactivate, Place::default(), 0);
    }
}

/// The program is about to do something that is a fault on an object with waiters, of which it seems to have some. Reports
/// the fault if there is a waiter.
#[cold]
fn tells_of_waiter(kind: &'static Type, addr: u64, op: Operation) -> bool {
    let mut told = false;
    waiters::find(addr, addr + 1, true, |of, _, by| {
        if !told
            && of.descr.type_id == kind.descr.type_id
            && freed_memory::activate(kind, addr, true, by)
        {
            told = true;
            if let Some(fault) = OBJECTS.apply(local(), &kind.descr, addr, op, here(0), 0) {
                faults::fault(&fault);
            }
            // In use as long as it is waited on: that is looked up again when it matters again.
            OBJECTS.apply(local(), &kind.descr, addr, Operation::Deactivate, by, 0);
        }
    });
    told
}
