//! Waits at futexes: who waits where, for those who ask why a program hangs. No lock is known to be
//! behind them, so nothing is concluded.

use core::ffi::c_long;

use lockwright_engines::lockdep::FutexWait;

use super::watch;
use crate::futex::{Stack, Wait};
use crate::os::{time, tls};

/// The calling thread is in a wait that is seen: for a lock of a library that is stood in front of,
/// and that waits by a futex.
pub fn is_in_wait() -> bool {
    // SAFETY: as `watch::thread`.
    unsafe { tls::get().as_mut() }.is_some_and(|thread| thread.wait_frame().is_some())
}

/// Waits by `block`; for as long, the ledger says where and since when.
pub fn during(wait: &Wait, stack: &Stack, block: impl FnOnce() -> c_long) -> c_long {
    let thread = match super::is_wanted() {
        true => watch::thread(),
        false => None,
    };
    let Some(thread) = thread else { return block() };
    thread.futex_wait_begin(&FutexWait {
        addr: wait.addr,
        word: wait.word,
        call: wait.call,
        is_timed: wait.is_timed,
        stack: stack.row(),
        since_ns: time::now_ns(),
    });
    let result = block();
    thread.wait_end();
    result
}
