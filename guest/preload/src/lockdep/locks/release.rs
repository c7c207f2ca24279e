//! The slow paths of a release.

use core::ffi::c_int;

use lockwright_engines::lockdep::{Ident, Misuse, ThreadState};
use lockwright_ledger::rows::finding_kind;

use crate::callsite;
use crate::lockdep::{left_held, misuse, monitors};
use crate::recorder::state;

/// The slow path of a release of the innermost held lock: the call failed, or the entry says that
/// there is more to do.
#[cold]
pub fn innermost(thread: &mut ThreadState, result: c_int) {
    let Some(held) = thread.held().next_back() else { return };
    match result {
        // An inconsistent mutex that is held more than once says so each time, and counts all the
        // same.
        0 | libc::ENOTRECOVERABLE => any_held(thread, held.addr),
        // To the lock its owner is a kernel thread id, and a forked child's is another than its
        // parent's.
        libc::EPERM => {
            misuse::unlock_refused(thread, held.addr, Ident::new(held.inst, held.class), result);
        }
        _ => {}
    }
}

/// The thread has unlocked a lock that it holds, but not the innermost, or one that its last owner left behind when it
/// died.
#[cold]
pub fn any_held(thread: &mut ThreadState, addr: u64) {
    if thread.is_inconsistent(addr)
        && let Some(held) = thread.held_of(addr)
    {
        let ident = Ident::new(held.inst, held.class);
        misuse::tell(thread, &Misuse::new(finding_kind::UNLOCK_INCONSISTENT, addr, ident));
    }
    any(thread, addr, None);
}

/// The thread has unlocked the lock at `address`, which it may hold: that is not the innermost, or its entry says that
/// there is more to do.
#[cold]
pub fn any(thread: &mut ThreadState, address: u64, ident: Option<Ident>) {
    misuse::pinned(thread, address);
    hands_over(thread, address);
    callsite::released(thread, address);
    left_held::released(thread, address);
    let section = thread.section(address);
    if !thread.release(address)
        && let Some(ident) = ident
    {
        misuse::bad_unlock(thread, address, ident, true);
    }
    if let Some((mutex, section)) = section {
        monitors::left(thread, address, mutex, section);
    }
}

/// The lock at `address` is given up: tells the engine if somebody else comes after that.
#[cold]
pub fn hands_over(thread: &mut ThreadState, address: u64) {
    if thread.orders(address) {
        state::with_core(|core| core.hands_over(thread, address));
    }
}
