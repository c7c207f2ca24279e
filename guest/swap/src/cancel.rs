//! Waits that a thread can be cancelled in.
//!
//! The C library unwinds a cancelled thread's stack and calls what its frames have registered. A
//! frame registers by `__sigsetjmp` and `__pthread_register_cancel`, as C's `pthread_cleanup_push`
//! does; a function that returns twice is nothing for Rust, so the frame is one of assembly. The
//! wait itself is a system call, so for its time cancellation is asynchronous.
//!
//! A program can make cancellation asynchronous itself. Such a thread must not end inside a lock: its
//! node would stay in the queue. The first call that asks for it therefore installs the functions of
//! `async_cancel.rs` for the whole process, and no other process pays for them.

use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicBool, fence};

use crate::next;

/// `PTHREAD_CANCEL_DEFERRED`.
const DEFERRED: c_int = 0;
/// `PTHREAD_CANCEL_ASYNCHRONOUS`.
pub const ASYNCHRONOUS: c_int = 1;

unsafe extern "C" {
    /// Assembled in `arch`.
    fn lockwright_swap_guarded(
        body: unsafe extern "C" fn(*mut c_void),
        argument: *mut c_void,
        cleanup: unsafe extern "C" fn(*mut c_void),
    );
}

/// Calls `body`; if the thread is cancelled in there, `cleanup`, and the unwinding goes on.
///
/// # Safety
/// Both may be called with `argument`. `body` has nothing to drop where it can be cancelled.
pub unsafe fn guarded(
    body: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
    cleanup: unsafe extern "C" fn(*mut c_void),
) {
    // SAFETY: the function is the one assembled in `arch`, and the caller promises both functions and
    // `argument`.
    unsafe { lockwright_swap_guarded(body, argument, cleanup) };
}

/// Calls `sleep`, in which the thread can be cancelled, if it can be at all.
#[inline(always)]
pub fn cancellable<T>(sleep: impl FnOnce() -> T) -> T {
    let before = set_type(ASYNCHRONOUS);
    let result = sleep();
    set_type(before);
    result
}

/// Sets the calling thread's type of cancellation, and returns the previous one. If the thread has
/// been cancelled and the new type is asynchronous, this does not return.
fn set_type(kind: c_int) -> c_int {
    let mut before = DEFERRED;
    // SAFETY: the function writes one number, for which `before` has room.
    unsafe { next::pthread_setcanceltype(kind, &raw mut before) };
    before
}

/// Some thread of the process has asked for asynchronous cancellation.
static IS_CAREFUL: AtomicBool = AtomicBool::new(false);

/// Whether the functions of `async_cancel.rs` are needed.
pub fn is_careful() -> bool {
    // Relaxed: the caller's fence orders it.
    IS_CAREFUL.load(Relaxed)
}

/// From now on they are.
pub fn be_careful() {
    IS_CAREFUL.store(true, Relaxed);
    // SeqCst: pairs with the fence in `choice::choose`.
    fence(SeqCst);
}

/// Looks up what a wait needs. The lookup takes the loader's lock, whose holder may wait for the
/// waiter: so a wait should not be the first to look it up.
pub fn prepare() {
    let before = set_type(DEFERRED);
    set_type(before);
}

/// Defers the calling thread's cancellation. False: it was deferred before.
pub fn defer() -> bool {
    set_type(DEFERRED) == ASYNCHRONOUS
}

/// Ends what [`defer`] began. A thread that was cancelled meanwhile ends here.
pub fn resume() {
    set_type(ASYNCHRONOUS);
}

/// As [`resume`], but calls `undo` with `argument` first if the thread was cancelled meanwhile.
///
/// # Safety
/// `undo` may be called with `argument`.
pub unsafe fn resume_or(undo: unsafe extern "C" fn(*mut c_void), argument: *mut c_void) {
    /// # Safety
    /// None: it ignores its argument.
    unsafe extern "C" fn body(_: *mut c_void) {
        resume();
    }
    // SAFETY: the caller promises that `undo` may be called with `argument`; `body` has nothing to
    // drop.
    unsafe { guarded(body, argument, undo) };
}

// The personality routine of all our frames. Without a std nobody defines it, and the precompiled
// core library refers to it. Hidden, so that a Rust program's own is not interposed.
framed_code!(personality, to = sym personality);

/// The unwinder calls this for each frame: none of ours has anything to clean up.
///
/// # Safety
/// The unwinder calls it, for a frame of ours.
unsafe extern "C" fn personality(
    _version: c_int,
    _actions: c_int,
    _class: u64,
    _exception: *mut c_void,
    _context: *mut c_void,
) -> c_int {
    /// `_URC_CONTINUE_UNWIND`.
    const CONTINUE_UNWIND: c_int = 8;
    CONTINUE_UNWIND
}
