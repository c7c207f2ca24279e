//! The wrappers.

pub mod allocate;
pub mod annotate;
pub mod attribute;
pub mod bare_fork;
pub mod c11;
pub mod cond;
pub mod ending;
pub mod execute;
pub mod fork;
pub mod freed;
pub mod guarded;
pub mod inherited;
pub mod jump;
pub mod misuse;
pub mod mutex;
pub mod once;
pub mod rwlock;
pub mod seccomp;
pub mod semaphore;
pub mod signal;
pub mod signal_sysv;
pub mod signal_wait;
pub mod specific;
pub mod spin;
pub mod sync;
pub mod thread;
pub mod timer;
pub mod tried;
pub mod unload;
pub mod unpatched;
pub mod watch;

pub use allocate::start as track_allocations;
pub use annotate::own::{OwnLock, flag as own_flag};
pub use c11::start as watch_c11;
pub use ending::start as watch_exit_code;
pub use execute::start as choose_spawns;
pub use fork::{register as register_fork, unseen as fork_unseen};
pub use freed::{may_have_objects, note_lock, note_object, start as watch_frees};
pub use guarded::begin as begin_guarding;
pub use misuse::place;
pub use spin::this as spin_lock;
pub use thread::ended as thread_ended;
pub use timer::{armed_until, at_exit as timers_at_exit, forked as timers_forked};

use lockwright_engines::lockdep::ThreadState;
use lockwright_ledger::rows::mode;

use crate::{meter, sys};

/// The validator's wrappers, for lockmeter's to stand before.
pub mod check {
    pub use super::annotate::own;
    pub use super::cond::{
        clockwait as cond_clockwait, timedwait as cond_timedwait, wait as cond_wait,
    };
    pub use super::mutex::{
        clocklock as mutex_clocklock, lock as mutex_lock, lock_slowly as mutex_lock_slowly,
        timedlock as mutex_timedlock, trylock as mutex_trylock, unlock as mutex_unlock,
    };
    pub use super::rwlock::{
        clockrdlock as rwlock_clockrdlock, clockwrlock as rwlock_clockwrlock,
        rdlock as rwlock_rdlock, timedrdlock as rwlock_timedrdlock,
        timedwrlock as rwlock_timedwrlock, tryrdlock as rwlock_tryrdlock,
        trywrlock as rwlock_trywrlock, unlock as rwlock_unlock, wrlock as rwlock_wrlock,
    };
    pub use super::semaphore::{
        clockwait as sem_clockwait, timedwait as sem_timedwait, wait as sem_wait,
    };
    pub use super::spin::{lock as spin_lock, trylock as spin_trylock, unlock as spin_unlock};
    pub use super::sync::barrier_wait;
    pub use super::thread::{join, join_c11};
}

/// The calling thread is unwound out of a wrapper, because it was cancelled or ends: what it waited for in
/// there it waits for no more.
#[cfg_attr(test, expect(dead_code, reason = "tests have the standard library's unwinding"))]
pub fn unwound() {
    crate::objects::waits::unwound();
    // SAFETY: as `watch::thread`.
    let Some(thread) = (unsafe { crate::tls::get().as_mut() }) else { return };
    if let Some(wait) = thread.wait_unwound() {
        wait_left(thread, wait);
    }
}

/// The calling thread makes a long jump to the frame at `target`: a wait in a frame below is over, and takes nothing.
fn jumped(target: u64) {
    meter::wait_left();
    // SAFETY: as `watch::thread`.
    let Some(thread) = (unsafe { crate::tls::get().as_mut() }) else { return };
    // Stacks grow down. A handler that interrupts the wait runs below it, or on a stack of its own.
    if thread.wait_frame().is_some_and(|frame| frame < target && !sys::is_on_alternate(target))
        && let Some(wait) = thread.wait_unwound()
    {
        wait_left(thread, wait);
    }
}

/// The calling thread has left a wait without its call having returned.
fn wait_left(thread: &mut ThreadState, (addr, mode): (u64, u16)) {
    match mode {
        _ if mode & mode::COND_WAIT != 0 => cond::left(addr),
        _ if mode & mode::JOIN != 0 => thread::not_joined(addr as u32),
        _ => thread.abandon_waited(),
    }
}
