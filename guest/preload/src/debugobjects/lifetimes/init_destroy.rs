//! A call that initialises an object or destroys it, with the engine told before and after.

use core::ffi::c_int;

use crate::debugobjects::Type;
use crate::debugobjects::engine::is_on;
use crate::debugobjects::lifetime::{self, Before};
use crate::recorder::measured::measured_short;
use crate::stack::unwind::Frame;

/// The object of `kind` at `addr` is initialised by `call`, which answers 0 if it was.
pub fn init(kind: &'static Type, addr: u64, call: impl FnOnce() -> c_int) -> c_int {
    init_then(kind, addr, call, || None)
}

/// As [`init`]. `then` runs once it is initialised, and says where that was if it knows.
pub fn init_then(
    kind: &'static Type,
    addr: u64,
    call: impl FnOnce() -> c_int,
    then: impl FnOnce() -> Option<u32>,
) -> c_int {
    let before = lifetime::initialises(kind, addr, None, false);
    let result = call();
    if result == 0 {
        let stack = then();
        measured_short(|| lifetime::initialised(kind, addr, before, stack));
    }
    result
}

/// The object of `kind` at `addr` is destroyed by `call`, which answers 0 if it was.
pub fn destroy(kind: &'static Type, addr: u64, call: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: no call is named, so there is none that could have returned.
    unsafe { destroy_at(kind, addr, None, call) }
}

/// As [`destroy`], in the call `from` of the program's, if that is known.
///
/// # Safety
/// That call has not returned. Its frame pointer may be anything.
pub unsafe fn destroy_at(
    kind: &'static Type,
    addr: u64,
    from: Option<Frame>,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let before = before(|| lifetime::destroys(kind, addr, from));
    let result = call();
    if result == 0 {
        measured_short(|| {
            // SAFETY: the caller promises a call that has not returned.
            let stack = unsafe { lifetime::known_place(from) };
            lifetime::destroyed(kind, addr, before, stack);
        });
    }
    result
}

/// What the engine sees by `look` before such a call.
pub fn before(look: impl FnOnce() -> Before) -> Before {
    if is_on() { measured_short(look) } else { Before::Plain }
}
