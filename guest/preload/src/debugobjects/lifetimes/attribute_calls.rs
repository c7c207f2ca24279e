//! Attributes of threads, and of what they synchronise with. To the C library they are plain
//! memory: programs copy them, and leave them where they lie. So an unknown one counts as a copy as
//! long as its bytes can be an attribute's. And an end is reported only for an object whose
//! beginning was seen.

use core::ffi::{c_int, c_void};

use crate::debugobjects::{self, Type, init_destroy, types, uses};
use crate::libc::real;
use crate::os::readable;

type Attribute = *mut c_void;

/// Stands in front of the C library's `pthread_getattr_np`: it initialises its second argument.
///
/// # Safety
/// As the function itself.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_getattr_np(t: libc::pthread_t, a: Attribute) -> c_int {
    // SAFETY: the next `pthread_getattr_np` gets the program's own `t` and `a` unchanged, as
    // without us.
    initialises(&types::ATTR, a as u64, || unsafe { real::pthread_getattr_np(t, a) })
}

pub fn initialises(kind: &'static Type, addr: u64, init: impl FnOnce() -> c_int) -> c_int {
    init_destroy::init(kind, addr, init)
}

pub fn destroys(kind: &'static Type, addr: u64, destroy: impl FnOnce() -> c_int) -> c_int {
    if debugobjects::is_on() && uses::state(kind, addr).is_none() {
        return destroy();
    }
    init_destroy::destroy(kind, addr, destroy)
}

pub fn uses(kind: &'static Type, addr: u64, set: impl FnOnce() -> c_int) -> c_int {
    // The C library may refuse what it is to set before it looks at the attribute.
    if debugobjects::is_on() && readable::is_readable(addr as *const c_int) {
        uses::used_copied(kind, addr);
    }
    set()
}

/// An attribute, which may be null, is handed to a function that makes something by it.
#[inline]
pub fn made_by<T>(kind: &'static Type, attr: *const T) {
    if !attr.is_null() {
        uses::used_copied(kind, attr as u64);
    }
}
