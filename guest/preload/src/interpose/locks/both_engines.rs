//! The functions for when lockdep runs too: lockmeter's, with lockdep's wrapper instead of the C
//! library's function. Whether an acquisition had to wait is only known in there: lockdep's wait
//! comes by [`timed`].

use core::ffi::{c_int, c_void};

use libc::{
    EBUSY, EOWNERDEAD, ETIMEDOUT, clockid_t, pthread_barrier_t, pthread_cond_t, pthread_mutex_t,
    pthread_rwlock_t, pthread_spinlock_t, pthread_t, timespec,
};
use lockwright_engines::lockmeter::MeterThread;
use lockwright_ledger::rows::meter::wait_kind;

use crate::callsite::Return;
use crate::lockdep::acquire::Watched;
use crate::lockmeter::acquire::{Counted, may_recur};
use crate::lockmeter::cond::Ends;
use crate::lockmeter::wait::{self, Contended, Owner};
use crate::lockmeter::{
    Spot, Target, cond, hold, is_wanted, prepare, record, rwlock, spot, subject_of, sync_waits, tls,
};
use crate::os::deadline;

/// The wrappers of a process that is only checked, for lockmeter's to stand before.
mod lockdep {
    pub use crate::interpose::barrier::wait as barrier_wait;
    pub use crate::interpose::cond::{
        clockwait as cond_clockwait, timedwait as cond_timedwait, wait as cond_wait,
    };
    pub use crate::lockdep::mutex::{lock as mutex_lock, unlock as mutex_unlock};
    pub use crate::lockdep::rwlock::unlock as rwlock_unlock;
    pub use crate::lockdep::spin::unlock as spin_unlock;
    pub use crate::lockdep::thread::{join, join_c11};
}

/// Takes a lock, in `mode`, by `take`, lockdep's wrapper. `tries`: it does not wait.
///
/// # Safety
/// The caller's lock.
pub unsafe fn acquire<L: Watched + Counted>(
    lock: *mut L,
    mode: u16,
    site: u64,
    back: Return,
    tries: bool,
    take: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the stub's `site` and `back` are of the call under way.
    let subject = unsafe { subject_of(lock, || back.frame(site)) };
    let Some((thread, ident)) = subject else { return take() };
    let target = Target { addr: lock as u64, ident, mode, site, back, has_lines: false };
    let Some(spot) = spot(thread, &target) else { return take() };
    // SAFETY: the program passed `lock` to this call: it points to its lock.
    let recurs = unsafe { may_recur(lock, thread) };
    prepare(thread);
    spot.cell.begin();
    thread.expect_wait(target.addr, spot.cell);
    let result = take();
    let has_waited = thread.has_put_wait();
    match result {
        0 | EOWNERDEAD if recurs && thread.recurse(target.addr) => {
            thread.forget_wait();
            spot.cell.take_back();
        }
        0 | EOWNERDEAD if !has_waited => {
            hold::begin(thread, target.addr, spot, mode != 0);
        }
        0 | EOWNERDEAD => has_after_wait(thread, target.addr, spot, mode != 0),
        EBUSY if tries => spot.cell.reject(),
        ETIMEDOUT => {
            spot.cell.time_out();
            ran_out(thread);
        }
        _ => {
            thread.forget_wait();
            spot.cell.take_back();
        }
    }
    if result == 0 {
        // SAFETY: the program passed `lock` to this call, and the thread holds it by now.
        unsafe { L::had_after_wait(lock, mode) };
    }
    result
}

/// The thread has the lock at `addr` after a wait. Not part of [`acquire`], under whose frame lockdep's slow path runs: a wait takes
/// much of a stack.
#[cold]
#[inline(never)]
fn has_after_wait(thread: &mut MeterThread, addr: u64, spot: Spot, shared: bool) {
    let waited = thread.take_wait();
    wait::held_after(thread, waited.as_ref(), addr, spot, shared);
}

/// The thread has given up, after a wait if there was one.
#[cold]
#[inline(never)]
fn ran_out(thread: &mut MeterThread) {
    if let Some(waited) = thread.take_wait() {
        record::wait(thread, &waited);
    }
}

/// lockdep waits for the lock at `addr` by `block`: that is timed, if it is for an acquisition
/// above.
pub fn timed(addr: u64, owner: u32, block: &mut dyn FnMut() -> c_int) -> c_int {
    if !is_wanted() {
        return block();
    }
    // A thread without a meter expects no wait.
    let expected = tls::own_with(|meter| meter.expected_wait(addr));
    let Some((thread, cell)) = expected else { return block() };
    let contended = Contended { owner: Owner::Was(owner), spins: false, shared: false };
    wait::measure(thread, addr, cell, contended, block, |thread, _, waited| thread.put_wait(waited))
}

/// # Safety
/// As for `lockdep::mutex_lock`, which wraps the same call.
pub unsafe extern "C-unwind" fn mutex_lock(
    m: *mut pthread_mutex_t,
    site: u64,
    stack: *const u64,
) -> c_int {
    // SAFETY: `lockdep::mutex_lock` wraps the same call, and gets its arguments unchanged.
    let take = || unsafe { lockdep::mutex_lock(m, site, stack) };
    // SAFETY: `m` is the program's own mutex, and `take` locks it as the program asked.
    unsafe { acquire(m, 0, site, Return::on_stack(stack), false, take) }
}

/// # Safety
/// As for `lockdep::mutex_unlock`, which wraps the same call.
pub unsafe extern "C-unwind" fn mutex_unlock(m: *mut pthread_mutex_t, site: u64) -> c_int {
    // SAFETY: `lockdep::mutex_unlock` wraps the same call, and gets its arguments unchanged.
    hold::release_around(m as u64, move || unsafe { lockdep::mutex_unlock(m, site) })
}

/// # Safety
/// As for `lockdep::rwlock_unlock`, which wraps the same call.
pub unsafe extern "C-unwind" fn rwlock_unlock(l: *mut pthread_rwlock_t, site: u64) -> c_int {
    // SAFETY: `l` is the program's own lock, which `lockdep::rwlock_unlock` gets with the call's
    // `site`.
    rwlock::release(l as u64, move || unsafe { lockdep::rwlock_unlock(l, site) })
}

/// # Safety
/// As for `lockdep::spin_unlock`, which wraps the same call.
pub unsafe extern "C-unwind" fn spin_unlock(l: *mut pthread_spinlock_t, site: u64) -> c_int {
    // SAFETY: `lockdep::spin_unlock` wraps the same call, and gets its arguments unchanged.
    hold::release_around(l as u64, move || unsafe { lockdep::spin_unlock(l, site) })
}

/// # Safety
/// As for `lockdep::cond_wait`, which wraps the same call.
pub unsafe extern "C-unwind" fn cond_wait(
    c: *mut pthread_cond_t,
    m: *mut pthread_mutex_t,
    site: u64,
) -> c_int {
    // SAFETY: `m` is the program's own mutex, and the wrapper for lockdep gets the arguments
    // unchanged.
    unsafe { cond::around(c as u64, m, site, Ends::Never, || lockdep::cond_wait(c, m, site)) }
}

/// # Safety
/// As for `lockdep::cond_timedwait`, which wraps the same call.
pub unsafe extern "C-unwind" fn cond_timedwait(
    c: *mut pthread_cond_t,
    m: *mut pthread_mutex_t,
    t: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: `lockdep::cond_timedwait` wraps the same call, and gets its arguments unchanged.
    let block = || unsafe { lockdep::cond_timedwait(c, m, t, site) };
    // SAFETY: `m` is the program's own mutex, and `t` its deadline or null.
    unsafe {
        match deadline::is_time(t) {
            true => cond::around(c as u64, m, site, Ends::at(t), block),
            false => block(),
        }
    }
}

/// # Safety
/// As for `lockdep::cond_clockwait`, which wraps the same call.
pub unsafe extern "C-unwind" fn cond_clockwait(
    c: *mut pthread_cond_t,
    m: *mut pthread_mutex_t,
    k: clockid_t,
    t: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: `lockdep::cond_clockwait` wraps the same call, and gets its arguments unchanged.
    let block = || unsafe { lockdep::cond_clockwait(c, m, k, t, site) };
    // SAFETY: `m` is the program's own mutex, and `t` its deadline or null.
    unsafe {
        match deadline::is_time(t) && deadline::is_clock(k) {
            true => cond::around(c as u64, m, site, Ends::at(t), block),
            false => block(),
        }
    }
}

/// # Safety
/// As for `lockdep::join`, which wraps the same call.
pub unsafe extern "C-unwind" fn join(t: pthread_t, value: *mut *mut c_void, site: u64) -> c_int {
    // SAFETY: `lockdep::join` wraps the same call, and gets its arguments unchanged.
    sync_waits::whole(wait_kind::JOIN, t, site, || unsafe { lockdep::join(t, value, site) })
}

/// # Safety
/// As for `lockdep::join_c11`, which wraps the same call.
pub unsafe extern "C-unwind" fn thrd_join(t: pthread_t, value: *mut c_int, site: u64) -> c_int {
    // SAFETY: `lockdep::join_c11` wraps the same call, and gets its arguments unchanged.
    sync_waits::whole(wait_kind::JOIN, t, site, || unsafe { lockdep::join_c11(t, value, site) })
}

/// # Safety
/// As for `lockdep::barrier_wait`, which wraps the same call.
pub unsafe extern "C-unwind" fn barrier_wait(b: *mut pthread_barrier_t, site: u64) -> c_int {
    // SAFETY: `lockdep::barrier_wait` wraps the same call, and gets its arguments unchanged.
    let block = || unsafe { lockdep::barrier_wait(b, site) };
    sync_waits::whole(wait_kind::BARRIER, b as u64, site, block)
}
