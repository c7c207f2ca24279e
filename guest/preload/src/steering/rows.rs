//! The rows of threads that have a lock which the plan is about.

use core::sync::atomic::Ordering::*;

use lockwright_ledger::steering::{Inside, Steering};

use super::meeting::changed;
use crate::os::{sys, tls};

/// The thread is inside from now on; false: there is no row for it. Called with the list's lock.
pub fn go_in(plan: &Steering, index: usize, pid: u32, tid: u32, lock: u64) -> bool {
    let free = |inside: &&Inside| inside.tid.load(Acquire) == 0;
    let Some(inside) = plan.inside.iter().find(free) else { return false };
    inside.pid.store(pid, Relaxed);
    inside.path.store(index as u32, Relaxed);
    inside.lock.store(lock, Relaxed);
    // Release pairs with the Acquire loads of it: the rest is there.
    inside.tid.store(tid, Release);
    tls::set_rooms(tls::rooms() + 1);
    true
}

/// The rows of the calling thread.
pub fn own(plan: &Steering, pid: u32, tid: u32) -> impl Iterator<Item = &Inside> {
    plan.inside.iter().filter(move |it| it.tid.load(Relaxed) == tid && it.pid.load(Relaxed) == pid)
}

/// The row is nobody's.
pub fn leave(plan: &Steering, inside: &Inside) {
    // Release pairs with the Acquire in `go_in`: nothing is stored for us after that.
    inside.tid.store(0, Release);
    tls::set_rooms(tls::rooms().saturating_sub(1));
    changed(plan);
}

/// Threads that ended inside are there no more.
pub fn forget_dead(plan: &Steering, pid: u32) {
    for inside in &plan.inside {
        let tid = inside.tid.load(Relaxed);
        if tid != 0 && inside.pid.load(Relaxed) == pid && !sys::thread_lives(tid) {
            let _ = inside.tid.compare_exchange(tid, 0, Release, Relaxed);
        }
    }
}
