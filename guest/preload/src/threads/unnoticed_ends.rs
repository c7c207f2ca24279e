//! Threads that have ended without notice: where the program has all keys ([`super::keys`]), no
//! destructor reports their ends. They are looked for when it matters: when a thread begins, is
//! joined or is about to wait for a lock, and at the end of the process. Until then they are as
//! threads that run.

use core::sync::atomic::{AtomicBool, Ordering::*};

use crate::hosts;
use crate::os::sys;

/// Ends are not heard of any more.
static ARE_UNHEARD: AtomicBool = AtomicBool::new(false);

/// From now on ends are not heard of.
pub fn end_unnoticed() {
    ARE_UNHEARD.store(true, Relaxed);
}

/// Ends are heard of.
pub fn are_heard() -> bool {
    !ARE_UNHEARD.load(Relaxed)
}

/// Looks for threads that have ended, if their ends are not heard of.
#[inline]
pub fn look() {
    if !are_heard() {
        look_for_all();
    }
}

/// Somebody looks.
static LOOKS: AtomicBool = AtomicBool::new(false);

#[cold]
fn look_for_all() {
    // One at a time, so that no thread is ended twice. A thread that comes while another looks goes
    // without. Acquire pairs with the Release below.
    if LOOKS.swap(true, Acquire) {
        return;
    }
    let own = sys::gettid();
    // A thread that has another's kernel thread id is none of the process's any more.
    let has_ended = |tid: u32, is_own: bool| !is_own && (tid == own || !sys::thread_lives(tid));
    hosts::each(|host| (host.threads_gone)(&has_ended));
    // Release pairs with the Acquire above.
    LOOKS.store(false, Release);
}
