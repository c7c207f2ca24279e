//! Threads that are cancelled, or call `pthread_exit`, while one of our wrappers is on their stack:
//! the C library unwinds them, through us. (Nothing else does: our panics abort, and C functions
//! throw nothing.)
//!
//! Our frames have nothing to clean up, since every value in there is plain, so the personality
//! routine lets the unwinder go on. It also reports what a wrapper would have reported after its
//! call.

use core::ffi::{c_int, c_void};

use super::unwound_call::{CLEANUP_PHASE, CONTINUE_UNWIND};
use crate::os::upcall::Upcall;

/// Called when the calling thread is unwound out of a wrapper.
pub static UNWOUND: Upcall<fn()> = Upcall::none();

// The personality routine of all our frames. Without a std nobody defines it, and the precompiled
// core library refers to it. Hidden, so that a Rust program's own is not interposed.
framed_code!(personality, to = sym personality);

/// What the unwinder calls for each frame that it meets.
///
/// # Safety
/// The unwinder calls it, for a frame of ours.
unsafe extern "C" fn personality(
    _version: c_int,
    actions: c_int,
    _class: u64,
    _exception: *mut c_void,
    _context: *mut c_void,
) -> c_int {
    if actions & CLEANUP_PHASE != 0
        && let Some(unwound) = UNWOUND.get()
    {
        unwound();
    }
    CONTINUE_UNWIND
}
