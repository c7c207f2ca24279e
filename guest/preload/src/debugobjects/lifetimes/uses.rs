//! Uses of objects that change nothing of their state: the first of each is looked at.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lockwright_engines::debugobjects::{Fault, Operation, State};
use lockwright_ledger::rows::lock_kind;

use crate::debugobjects::engine::{OBJECTS, here, is_on};
use crate::debugobjects::threads::local;
use crate::debugobjects::{Type, early_objects, faults, object_pages, types};
use crate::stack::modules;

/// Objects whose use has been looked at, by some bits of their address: for those, another costs a
/// load and a compare.
static LOOKED_AT: [AtomicU64; 4096] = [const { AtomicU64::new(0) }; 4096];

fn slot(addr: u64) -> &'static AtomicU64 {
    &LOOKED_AT[(addr >> 4) as usize % LOOKED_AT.len()]
}

/// The calling thread is about to use an object of a type that cannot be initialised statically.
#[inline(always)]
pub fn used(kind: &'static Type, addr: u64) {
    if slot(addr).load(Relaxed) != addr {
        first_use(kind, addr);
    }
}

/// The object's life ends or begins: its next use is its first.
pub fn forget(addr: u64) {
    // A thread that comes between notes it again, and nothing is missed but a use that races with
    // this.
    if slot(addr).load(Relaxed) == addr {
        slot(addr).store(0, Relaxed);
    }
}

/// The memory in `[from, to)` is gone: what comes to lie there is used for the first time.
pub fn forget_in(from: u64, to: u64) {
    let is_there = |at: &&AtomicU64| (from..to).contains(&at.load(Relaxed));
    LOOKED_AT.iter().filter(is_there).for_each(|at| at.store(0, Relaxed));
}

/// As [`used`], for one that may be initialised statically: its bytes tell most.
pub fn used_static(kind: &'static Type, addr: u64) {
    // SAFETY: the program uses an object of type `kind` at `addr` in this call, as `is_possible`
    // asks.
    if !unsafe { kind.is_possible(addr) } {
        first_use(kind, addr);
    }
}

/// The calling thread is about to use a lock, one of [`lock_kind`], that has not been met
/// ([`crate::lock_id::first_use`]).
pub fn used_lock(kind: u8, addr: u64) {
    match kind {
        lock_kind::SPIN => used(&types::SPIN, addr),
        lock_kind::SEMAPHORE => used(&types::SEMAPHORE, addr),
        lock_kind::MUTEX | lock_kind::RECURSIVE | lock_kind::ERRORCHECK => {
            used_static(&types::MUTEX, addr);
        }
        lock_kind::RWLOCK | lock_kind::RWLOCK_WRITER => used_static(&types::RWLOCK, addr),
        _ => {}
    }
}

/// As [`used_static`], for one that may be a copy: only what was destroyed, or can be none, is
/// reported.
pub fn used_copied(kind: &'static Type, addr: u64) {
    // SAFETY: the program uses an object of type `kind` at `addr` in this call, as `is_possible`
    // asks.
    let can_be = unsafe { kind.is_possible(addr) };
    match state(kind, addr) {
        None if can_be => return,
        None | Some(State::Destroyed) => {}
        _ => return,
    }
    // What was destroyed here may be another by its bytes.
    look_at(kind, addr, |fault| fault.was == State::Destroyed || !can_be);
}

/// What state the engine has an object in; `None`: it has not heard of it.
pub fn state(kind: &'static Type, addr: u64) -> Option<State> {
    if !is_on() || !object_pages::is_noted(addr) {
        return None;
    }
    OBJECTS.state(local(), kind.descr.type_id, addr).map(|known| known.state)
}

#[cold]
#[inline(never)]
fn first_use(kind: &'static Type, addr: u64) {
    look_at(kind, addr, |_| true);
}

/// Asks the engine of the object, and tells what is wrong if `tells` says so.
fn look_at(kind: &'static Type, addr: u64, tells: impl FnOnce(&Fault) -> bool) {
    if !is_on() {
        return;
    }
    // Misuse is reported once, too.
    slot(addr).store(addr, Relaxed);
    // SAFETY: the program uses an object of type `kind` at `addr` in this call, as `is_shared`
    // asks.
    let (is_shared, fingerprint) = unsafe { (kind.is_shared(addr), kind.fingerprint(addr)) };
    let state = OBJECTS.state(local(), kind.descr.type_id, addr).map(|known| known.state);
    match state {
        // Other processes may do to it what we do not see.
        _ if is_shared => return,
        None if !early_objects::knows_all() || kind.size != 0 && modules::is_shared(addr) => return,
        None | Some(State::Destroyed) => {}
        _ => return,
    }
    let op = Operation::AssertInit;
    if let Some(fault) = OBJECTS.apply(local(), &kind.descr, addr, op, here(0), fingerprint)
        && tells(&fault)
    {
        faults::fault(&fault);
    }
}
