//! lockdep in the program: the functions that take and release locks, or wait, and record that.

pub mod annotate;
mod checks;
mod locks;
mod signals;
mod threads;
mod waits;
mod wanted;

pub use self::checks::{atomic_sleep, left_held, misuse};
pub use self::locks::{
    acquire, folded, loader_locks, lock_lifetime, mutex, once, python_lock, release, rwlock,
    semaphore, spin, watch,
};
use self::locks::{fast_path, trylocks};
pub use self::signals::{open_signals, signal, signal_sysv, signal_wait};
use self::threads::attached_threads;
pub use self::threads::thread;
pub use self::waits::{cond, futex, handovers};
use self::waits::{cond_waits, handed_on, monitors, taken_signals};
pub use self::wanted::{are_semaphores_wanted, ask, ask_semaphores, is_wanted};

use lockwright_ledger::layout::engines;

use crate::hosts::{Host, nothing};
use crate::lock_id::inherited;

/// What the process's turns mean here. The engine's core is `recorder/`'s, and starts and is forked
/// with that.
pub const HOST: Host = Host {
    engine: engines::LOCKDEP,
    is_wanted,
    start: |_| {
        cond::begin();
        futex::begin();
    },
    attach,
    forked,
    thread_ended: attached_threads::ended,
    threads_gone: attached_threads::end_those,
    finish: nothing,
};

/// Other code may come to lie in `[from, to)`, and other objects. The caller has the core's lock.
pub fn unloaded(from: u64, to: u64) {
    trylocks::forget(from, to);
    cond::forget_in(from, to);
}

/// In a forked child, whose only thread this is.
fn forked() {
    once::forked();
    attached_threads::forked();
}

/// Begins to watch the calling thread, which holds what it inherited if the process was forked.
fn attach() {
    let Some(thread) = attached_threads::attach() else { return };
    for lock in inherited::to_hold() {
        watch::inherit(thread, lock);
    }
}
