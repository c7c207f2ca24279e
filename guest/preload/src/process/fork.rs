//! fork: the child has one thread, a copy of our memory and the parent's mapping. It gets a ledger
//! of its own, made when it first uses a lock: most children exec soon.
//!
//! Handlers of our own notify us of a fork. A child's run in the order of their registration, and
//! they may use locks (those of an allocator do): so ours have to be registered before all others.
//!
//! Forks that run no handlers are reported by wrappers (`interpose/process/bare_fork.rs`), or noticed when
//! the child calls us ([`unseen`]).

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::futex;
use crate::hosts;
use crate::libc::real::{self, Handler};
use crate::lock_id::inherited;
use crate::os::tls;
use crate::recorder::state;

/// Registers handlers of forks.
pub fn register() {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if !REGISTERED.swap(true, Relaxed) {
        // By `pthread_atfork` our own module would be named, which need not be: a preloaded library
        // is never unloaded.
        // SAFETY: the handlers are functions of this library, which is preloaded and never
        // unloaded.
        unsafe {
            real::__register_atfork(Some(prepare), Some(parent), Some(child), core::ptr::null())
        };
    }
}

/// Stands in front of what `pthread_atfork` calls. The first may come before our constructor runs;
/// until something is watched our handlers have nothing to do.
///
/// # Safety
/// As the function itself.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __register_atfork(
    prepare: Handler,
    parent: Handler,
    child: Handler,
    dso: *const c_void,
) -> c_int {
    register();
    // SAFETY: the next `__register_atfork` gets the program's own arguments unchanged, as without
    // us.
    unsafe { real::__register_atfork(prepare, parent, child, dso) }
}

/// # Safety
/// The C library calls it in the forking thread, before the fork.
unsafe extern "C" fn prepare() {
    while !inherited::reserve() {}
    // SAFETY: the loop above reserved the snapshot for this thread, as `take` asks.
    unsafe { inherited::take() };
}

/// In the parent: the snapshot is free again.
///
/// # Safety
/// The calling thread has reserved the snapshot, in `prepare` for example.
pub unsafe extern "C" fn parent() {
    inherited::release();
}

/// In the child: all that there is is the parent's.
///
/// # Safety
/// Called in a forked child, which has one thread.
pub unsafe extern "C" fn child() {
    tls::detach();
    tls::set_closed(false);
    inherited::forked();
    state::forked();
    futex::forked();
    hosts::each(|host| (host.forked)());
}

/// In a child of a fork that ran no handlers of ours. What its parent's thread held it does not
/// hold: of locks such a child may do nothing with them.
pub fn unseen() {
    // SAFETY: the child's copy; it has one thread.
    unsafe {
        inherited::forget();
        child();
    }
}
