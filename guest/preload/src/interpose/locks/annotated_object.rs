//! User-defined objects: include/lockwright/objects.h.

use core::ffi::{c_int, c_void};

use lockwright_engines::debugobjects::Operation;

use crate::debugobjects::{self, user_objects};
use crate::lockdep::watch;
use crate::os::sys;

/// The operation that a caller means, one of `LW_OBJECT_DO_INIT_` and its siblings in
/// lockwright/objects.h. `None`: of a later version.
fn operation(what: u32) -> Option<Operation> {
    Operation::ALL.into_iter().find(|&op| op as u32 == what)
}

/// What is done to an object, in the lower 8 bits of `what`, and in the others how large a
/// descriptor is for the caller. `first` and `second` are the states of [`Operation::ActiveState`],
/// or the size of [`Operation::NoObjFreed`].
///
/// # Safety
/// `descr` is null or the caller's descriptor, of the size in `what`, which it never changes.
pub unsafe extern "C-unwind" fn object(
    addr: u64,
    descr: *const c_void,
    what: u32,
    first: usize,
    second: usize,
    _site: u64,
) -> c_int {
    let Some(op) = operation(what & 0xff).filter(|_| addr != 0 && debugobjects::may_be_wanted())
    else {
        return 0;
    };
    // Fixups are the program's, and it does not know that they are called from here.
    let errno = sys::errno();
    // It may be the first that is heard of the thread, or of a forked child.
    watch::thread();
    let is_well = match op {
        Operation::NoObjFreed => {
            user_objects::frees(addr, first as u64);
            true
        }
        _ if descr.is_null() => true,
        // SAFETY: the program's call names this descriptor, and the upper bits of `what` say how
        // many bytes it has.
        _ => match unsafe { user_objects::of(descr, (what >> 8) as usize) } {
            Some(descr) => user_objects::tell(descr, addr, op, (first as u32, second as u32)),
            None => true,
        },
    };
    sys::set_errno(errno);
    if op == Operation::Activate && !is_well { -libc::EINVAL } else { 0 }
}
