//! Waits at futexes: which thread waits where, to explain a hanging program, and with which locks held.
//! No lock is known to be behind them, so nothing is concluded.

use core::ffi::c_long;

use lockwright_engines::lockdep::{FutexWait, ThreadState};

use crate::futex::{Stack, Wait};
use crate::lockdep::watch;
use crate::os::{time, tls};
use crate::recorder::state;

/// The calling thread is in a wait that is seen: for a lock of an interposed library that waits by
/// a futex.
pub fn is_in_wait() -> bool {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    unsafe { tls::get().as_mut() }.is_some_and(|thread| thread.wait_frame().is_some())
}

/// Waits by `block`; for as long, the ledger says where and since when.
pub fn during(wait: &Wait, stack: &Stack, block: impl FnOnce() -> c_long) -> c_long {
    let thread = match crate::lockdep::is_wanted() {
        true => watch::thread(),
        false => None,
    };
    let Some(thread) = thread else { return block() };
    let begins = FutexWait {
        addr: wait.addr,
        word: wait.word,
        call: wait.call,
        is_timed: wait.is_timed,
        stack: stack.row(),
        since_ns: time::now_ns(),
    };
    if !thread.is_idle() && !begins.is_timed {
        keeps_locks(thread, &begins);
    }
    thread.futex_wait_begin(&begins);
    let result = block();
    thread.wait_end();
    result
}

/// The thread is about to wait, and perhaps holds locks.
#[cold]
#[inline(never)]
fn keeps_locks(thread: &mut ThreadState, wait: &FutexWait) {
    if wait.stack != 0 && !thread.has_told_futex_wait(wait) {
        state::with_core(|core| core.waits_at_futex(thread, wait));
    }
}
