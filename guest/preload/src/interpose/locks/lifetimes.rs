//! Locks' lives begin and end: debugobjects' part of that, with lockdep's instead of the C
//! library's function. debugobjects does not repeat lockdep's report on a held lock. And it does
//! not look the place up again if lockdep has.

use core::ffi::c_int;

use lockwright_ledger::rows::finding_kind;

use crate::debugobjects::lifetime::{self, Before};
use crate::debugobjects::{self, Type, init_destroy};
use crate::lock_id::identity;
use crate::lockdep::acquire::Watched;
use crate::lockdep::lock_lifetime;
use crate::recorder::measured::{Short, measured_short};
use crate::recorder::state;
use crate::stack::unwind::Frame;

/// Nobody wants to hear of a lock that begins its life now. So a forked child that initialises
/// locks and uses none needs no ledger.
pub fn are_unheard() -> bool {
    state::status() != state::ACTIVE && !debugobjects::may_be_wanted()
}

/// A lock is initialised by `call`, which answers 0 if it was, as an object of `kind`.
/// `is_silent`: debugobjects is not to follow it.
///
/// # Safety
/// The caller's memory, large enough for such a lock. `from`, the call of the program's, has not returned; its frame pointer
/// may be anything.
pub unsafe fn init<L: Watched>(
    kind: &'static Type,
    lock: *mut L,
    is_silent: bool,
    from: Option<Frame>,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let addr = lock as u64;
    // SAFETY: the caller promises memory that is large enough for such a lock; what it says is only a hint.
    let last = unsafe { identity::destroyed_last(lock) };
    let before = lifetime::initialises(kind, addr, from, last.is_some());
    // SAFETY: the caller promises memory that is large enough for such a lock; what it says is only a hint.
    let was_held = last.is_none()
        && unsafe { lock_lifetime::tell_if_held(lock, finding_kind::HELD_INITIALISED) };
    let before = match was_held {
        _ if is_silent => Before::Silent,
        true => Before::Held,
        false => before,
    };
    let result = call();
    if result != 0 {
        return result;
    }
    let short = Short::begin();
    // SAFETY: `call` answered 0, so the caller's memory is an initialised lock now. The caller promises that `from` has not
    // returned.
    let stack = unsafe { identity::begin_as_known(lock, from, last) };
    if stack.is_some() {
        lifetime::initialised_here(kind, addr, before, stack);
    }
    short.end();
    if stack.is_none() {
        // SAFETY: `call` answered 0, so the caller's memory is an initialised lock now.
        unsafe { begin_of_new_class(kind, lock, before) };
    }
    result
}

/// A lock has been initialised in a place that is not known yet.
///
/// # Safety
/// The caller's lock.
#[cold]
#[inline(never)]
unsafe fn begin_of_new_class<L: Watched>(kind: &'static Type, lock: *mut L, before: Before) {
    // SAFETY: the caller promises its lock.
    let stack = unsafe { identity::begin(lock) };
    measured_short(|| lifetime::initialised(kind, lock as u64, before, stack));
}

/// A lock is destroyed by `call`, which answers 0 if it was.
///
/// # Safety
/// The caller's lock; `from` is as for [`init`].
pub unsafe fn destroy<L: Watched>(
    kind: &'static Type,
    lock: *mut L,
    from: Option<Frame>,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let addr = lock as u64;
    // SAFETY: the caller promises its lock.
    let before = match L::STAMPABLE && unsafe { identity::stamped(lock) }.is_some() {
        true => lifetime::destroys_met(kind, addr, from),
        false => init_destroy::before(|| lifetime::destroys(kind, addr, from)),
    };
    // SAFETY: the caller promises its lock.
    unsafe { lock_lifetime::tell_if_held(lock, finding_kind::HELD_DESTROYED) };
    let result = call();
    if result == 0 {
        let short = Short::begin();
        // SAFETY: the caller still owns the memory, and promises that `from` has not returned.
        let stack = unsafe { identity::forget(lock, from) };
        lifetime::destroyed_here(kind, addr, before, stack);
        short.end();
    }
    result
}
