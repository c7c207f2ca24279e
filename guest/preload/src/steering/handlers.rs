//! A signal comes while a thread holds a lock that the signal's handler takes: just before the thread gives it up.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_engines::lockdep::ThreadState;
use lockwright_ledger::steering::{Path, Steering};

use super::meeting::locked;
use super::rows;
use crate::os::sys;

/// A run gets so many signals for one path: programs may do something about each.
const MOST: u32 = 4;

/// The thread comes to the path of this index, and takes the lock during which its signal is to come.
pub fn come(plan: &Steering, index: usize, thread: Option<&ThreadState>, lock: u64) {
    let path = &plan.paths[index];
    // The handler itself may come here.
    if thread.is_some_and(|thread| thread.in_signal() != 0) {
        return;
    }
    path.arrivals.fetch_add(1, Relaxed);
    if path.pauses.load(Relaxed) < MOST {
        let (pid, tid) = (sys::pids().0, sys::gettid());
        locked(plan, || rows::go_in(plan, index, pid, tid, lock));
    }
}

/// The thread is about to give up the lock that it has taken at this path.
pub fn interrupt(path: &Path) {
    let signal = path.signal.load(Relaxed);
    if signal != 0 && path.pauses.fetch_add(1, Relaxed) < MOST && sys::has_handler(signal) {
        sys::raise(signal);
    }
}
