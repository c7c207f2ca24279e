//! Locks' lives begin and end: debugobjects' part of that, with lockdep's instead of the C
//! library's function. debugobjects does not repeat lockdep's report on a held lock. And it does
//! not look the place up again if lockdep has.

use core::ffi::c_int;

use crate::debugobjects::lifetime::{self, Before};
use crate::debugobjects::{self, Type};
use crate::lockdep::acquire::Watched;
use crate::lockdep::lock_lifetime;
use crate::recorder::measured::measured_short;
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
    let before = measured_short(|| lifetime::initialises(kind, lock as u64));
    // SAFETY: the caller promises memory that is large enough for such a lock, as `lock_lifetime::begin`
    // asks.
    let begun = unsafe { lock_lifetime::begin(lock, debugobjects::is_on(), from, call) };
    let before = match begun.was_held {
        _ if is_silent => Before::Silent,
        true => Before::Over,
        false => before,
    };
    if begun.result == 0 {
        measured_short(|| lifetime::initialised(kind, lock as u64, before, begun.stack));
    }
    begun.result
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
    let before = measured_short(|| lifetime::destroys(kind, lock as u64));
    // SAFETY: the caller promises its lock, as `lock_lifetime::end` asks.
    let (result, stack) = unsafe { lock_lifetime::end(lock, from, call) };
    if result == 0 {
        measured_short(|| lifetime::destroyed(kind, lock as u64, before, stack));
    }
    result
}
