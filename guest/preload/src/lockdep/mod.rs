//! lockdep in the program: the functions that take and release locks, or wait, and record that.

pub mod acquire;
pub mod annotate;
pub mod atomic_sleep;
mod attached;
pub mod cond;
mod cond_waits;
// For the laboratory alone: what the kernel's patches changed.
#[cfg_attr(
    any(
        feature = "unpatched-2",
        feature = "unpatched-3",
        feature = "unpatched-4",
        feature = "unpatched-5"
    ),
    path = "../../../../lab/unpatched/fast_path.rs"
)]
mod fast_path;
pub mod futex;
pub mod left_held;
pub mod life;
pub mod loader;
pub mod misuse;
pub mod mutex;
pub mod once;
pub mod rwlock;
pub mod semaphore;
pub mod signal;
pub mod signal_sysv;
pub mod signal_wait;
pub mod spin;
pub mod sync;
mod taken_signals;
pub mod thread;
mod trylocks;
pub mod watch;

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use lockwright_ledger::layout::engines;

use crate::hosts::{Host, nothing};
use crate::lock_id::inherited;

/// What the process's turns mean here. The engine's core is `recorder/`'s, and starts and is forked
/// with that.
pub const HOST: Host = Host {
    engine: engines::LOCKDEP,
    is_wanted,
    start: |_| cond::begin(),
    attach,
    forked,
    thread_ended: attached::ended,
    threads_gone: attached::end_those,
    finish: nothing,
};

/// In a forked child, whose only thread this is.
fn forked() {
    once::forked();
    attached::forked();
}

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

/// Begins to watch the calling thread, which holds what it inherited if the process was forked.
fn attach() {
    let Some(thread) = attached::attach(0, 0) else { return };
    for lock in inherited::to_hold() {
        watch::inherit(thread, lock);
    }
}
