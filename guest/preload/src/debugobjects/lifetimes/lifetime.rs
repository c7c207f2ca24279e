//! Objects' lives begin and end: what the wrappers of init and destroy functions tell.
//!
//! Each is reported in two steps, before the C library's function and after it. Only the bytes
//! before the call show what the object was, and only the call's result shows whether anything was
//! done.

use lockwright_engines::debugobjects::{Fault, Operation, Place, State};
use lockwright_ledger::rows::object::{object_end, object_fault};

use crate::callsite::current_stack;
use crate::debugobjects::engine::{OBJECTS, here, is_inherited, is_on, may_be_wanted};
use crate::debugobjects::threads::local;
use crate::debugobjects::{
    Type, early_objects, faults, frames, freed_memory, object_pages, uses, waiters,
};
use crate::recorder::state;
use crate::stack::{modules, stack_bounds};

/// What the first of the two steps has seen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// There is nothing to report.
    Silent,
    /// Nothing that matters.
    Plain,
    /// The engine has not heard of it.
    Unknown,
    /// What the engine knows of it is over: that was reported, or there is another object now.
    Over,
}

/// An object is about to be initialised.
#[inline]
pub fn initialises(kind: &'static Type, addr: u64) -> Before {
    if !is_on() {
        return Before::Plain;
    }
    frames::sweep();
    if !object_pages::is_noted(addr) {
        return Before::Plain;
    }
    initialises_noted(kind, addr)
}

/// There are, or were, objects where one is about to be initialised.
#[cold]
fn initialises_noted(kind: &'static Type, addr: u64) -> Before {
    let op = match stack_bounds::has_now(addr) {
        true => Operation::InitOnStack,
        false => Operation::Init,
    };
    if tells_of_waiter(kind, addr, op) {
        return Before::Over;
    }
    match OBJECTS.state(local(), kind.descr.type_id, addr) {
        None => return Before::Plain,
        Some(known) if known.state == State::Destroyed => return Before::Plain,
        // A child of fork initialises its locks again: it has no other threads, and their holder is
        // not known.
        Some(known) if is_inherited(&known.init) => return Before::Over,
        Some(_) => {}
    }
    // A frame's memory is reused without notice, with its old content. So is the memory of a
    // variable whose block has ended, and that of a program's own allocator, but not modules'
    // memory. Nothing tells these from an object that is initialised twice.
    let is_new = op == Operation::InitOnStack
        // SAFETY: the caller's memory, of an object's size.
        || modules::find(addr).is_none() && !unsafe { kind.is_used(addr) };
    if is_new {
        freed_memory::check(addr, addr + 1, object_end::REUSED, None);
    }
    Before::Plain
}

/// An object has been initialised. `stack` is where, if that is known already.
pub fn initialised(kind: &'static Type, addr: u64, before: Before, stack: Option<u32>) {
    if !is_on() {
        if may_be_wanted() {
            early_objects::initialised(&kind.descr, kind.size, addr);
        }
        return;
    }
    uses::forget(addr);
    // SAFETY: `initialised` is called after the program's call has initialised an object of `kind`
    // at `addr`.
    let is_shared = unsafe { kind.is_shared(addr) };
    if before == Before::Over || is_shared {
        OBJECTS.apply(local(), &kind.descr, addr, Operation::Free, Place::default(), 0);
    }
    if is_shared || before == Before::Silent {
        return;
    }
    let on_stack = stack_bounds::has_now(addr);
    let op = if on_stack { Operation::InitOnStack } else { Operation::Init };
    if on_stack {
        frames::note(addr);
    }
    object_pages::note(addr, kind.size);
    let place = here_and_now(stack);
    // Had it been destroyed before, by the bytes that were there, that does not matter now.
    if let Some(fault) = OBJECTS.apply(local(), &kind.descr, addr, op, place, 0) {
        faults::fault(&fault);
    }
}

/// An object is about to be destroyed.
pub fn destroys(kind: &'static Type, addr: u64) -> Before {
    if !is_on() {
        return Before::Plain;
    }
    frames::sweep();
    // SAFETY: the program is about to destroy an object of `kind` at `addr`, so its memory is
    // there.
    if unsafe { kind.is_shared(addr) } {
        return Before::Silent;
    }
    if tells_of_waiter(kind, addr, Operation::Destroy) {
        return Before::Plain;
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
pub fn destroyed(kind: &'static Type, addr: u64, before: Before, stack: Option<u32>) {
    if !is_on() {
        if may_be_wanted() {
            early_objects::destroyed(&kind.descr, addr);
        }
        return;
    }
    uses::forget(addr);
    if before == Before::Silent {
        return;
    }
    if before == Before::Unknown {
        // As if it had been initialised, by nobody and never: its bytes are those of a destroyed
        // one now.
        let never = Place::default();
        OBJECTS.apply(local(), &kind.descr, addr, Operation::Free, never, 0);
        OBJECTS.apply(local(), &kind.descr, addr, Operation::Init, never, 0);
        object_pages::note(addr, kind.size);
        if stack_bounds::has_now(addr) {
            frames::note(addr);
        }
    }
    let place = here_and_now(stack);
    // SAFETY: the caller still owns the memory.
    let fingerprint = unsafe { kind.fingerprint(addr) };
    if let Some(fault) =
        OBJECTS.apply(local(), &kind.descr, addr, Operation::Destroy, place, fingerprint)
    {
        faults::fault(&fault);
    }
}

/// Where the calling thread is. A forked child that has used no lock yet has no ledger: now it
/// needs one.
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

/// The program is about to do something that is a fault on an object with waiters. Reports the
/// fault if there is a waiter.
fn tells_of_waiter(kind: &'static Type, addr: u64, op: Operation) -> bool {
    if !waiters::has_any(addr, addr + 1) {
        return false;
    }
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
