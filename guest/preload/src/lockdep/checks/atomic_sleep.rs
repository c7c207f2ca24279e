//! Calls that may sleep, made with a spinning lock held: the kernel's CONFIG_DEBUG_ATOMIC_SLEEP.
//! Until there is a spinning lock in the process nothing here is called (`interpose/syscalls/may_sleep.rs`).

use crate::lock_id::spinning;
use crate::os::{time, tls};
use crate::recorder::state;
use crate::stack::{modules, python};

/// The calling thread is about to make a call that may sleep, number `call` of the blocking calls,
/// which returns to `site`.
#[inline]
pub fn check(call: u32, site: u64) {
    if holds_spinning() {
        record(call, site);
    }
}

/// The calling thread holds a lock whose waiters spin.
#[inline]
pub fn holds_spinning() -> bool {
    if !spinning::any() {
        return false;
    }
    // SAFETY: this thread's own state, or the detached one, which is never written to and holds
    // nothing.
    let thread = unsafe { &*tls::raw() };
    !thread.is_idle() && thread.held().any(|held| held.is_held() && spinning::has(held.class))
}

#[cold]
#[inline(never)]
fn record(call: u32, site: u64) {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else { return };
    if thread.has_told_sleep(call, site) {
        return;
    }
    let now = time::now_ns();
    state::with_core(|core| {
        modules::cover(core, &[site]);
        core.sleeps(thread, call, site, now, &mut python::capture);
    });
}
