//! lockdep in the program: the functions that take and give up locks, or wait, and put that on
//! record.

pub mod acquire;
pub mod annotate;
pub mod cond;
pub mod life;
pub mod misuse;
pub mod mutex;
pub mod rwlock;
pub mod semaphore;
pub mod signal;
pub mod signal_sysv;
pub mod signal_wait;
pub mod spin;
pub mod sync;
pub mod thread;
mod trylocks;
pub mod watch;
mod without_patches;

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use lockwright_ledger::layout::engines;

use crate::lock_id::inherited;
use crate::process::hosts::{Host, nothing};
use crate::threads::keys;

/// What the process's turns mean here. The engine's core is `recorder/`'s, and starts and is forked
/// with that.
pub const HOST: Host = Host {
    engine: engines::LOCKDEP,
    is_wanted,
    start: |_| {},
    attach,
    forked: nothing,
    // By the destructor of a key of its own, which tells the others.
    thread_ended: nothing,
    finish: nothing,
};

/// lockdep was asked for.
static WANTED: AtomicBool = AtomicBool::new(true);

/// Says whether the engine is wanted. Called at start, before it begins.
pub fn ask(is_wanted: bool) {
    WANTED.store(is_wanted, Relaxed);
}

/// lockdep was asked for.
pub fn is_wanted() -> bool {
    WANTED.load(Relaxed)
}

/// Hears of threads' ends from now on.
pub fn watch_ends() {
    keys::LOCKDEP.make(thread::thread_exit);
}

/// Begins to watch the calling thread, which holds what it inherited if the process was forked.
fn attach() {
    let Some(thread) = watch::attach(0, 0) else { return };
    for lock in inherited::to_hold() {
        watch::inherit(thread, lock);
    }
}
