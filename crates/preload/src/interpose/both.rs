//! The functions for when lockdep runs too: lockmeter's, with lockdep's wrapper in the place of
//! the C library's function. Whether an acquisition had to wait is only known in there: lockdep's wait
//! comes by [`timed`].

use core::ffi::{c_int, c_void};

use libc::{
    EBUSY, EOWNERDEAD, ETIMEDOUT, clockid_t, pthread_barrier_t, pthread_cond_t, pthread_mutex_t,
    pthread_rwlock_t, pthread_spinlock_t, pthread_t, sem_t, timespec,
};
use lockwright_engines::lockmeter::MeterThread;
use lockwright_ledger::rows::meter::wait_kind;
use lockwright_ledger::rows::mode;

use crate::callsite::Return;
use crate::lock_id::by_address::spin_lock as as_lock;
use crate::lock_id::identity::Identify;
use crate::lockmeter::wait::{self, Contended, Owner};
use crate::lockmeter::{
    Target, cond, hold, is_wanted, mutex, rwlock, spot, subject, sync_waits, tls,
};

/// lockdep's wrappers, for lockmeter's to stand before.
mod check {
    pub use crate::lockdep::cond::{
        clockwait as cond_clockwait, timedwait as cond_timedwait, wait as cond_wait,
    };
    pub use crate::lockdep::mutex::{
        clocklock as mutex_clocklock, lock as mutex_lock, lock_slowly as mutex_lock_slowly,
        timedlock as mutex_timedlock, trylock as mutex_trylock, unlock as mutex_unlock,
    };
    pub use crate::lockdep::rwlock::{
        clockrdlock as rwlock_clockrdlock, clockwrlock as rwlock_clockwrlock,
        rdlock as rwlock_rdlock, timedrdlock as rwlock_timedrdlock,
        timedwrlock as rwlock_timedwrlock, tryrdlock as rwlock_tryrdlock,
        trywrlock as rwlock_trywrlock, unlock as rwlock_unlock, wrlock as rwlock_wrlock,
    };
    pub use crate::lockdep::semaphore::{
        clockwait as sem_clockwait, timedwait as sem_timedwait, wait as sem_wait,
    };
    pub use crate::lockdep::spin::{
        lock as spin_lock, trylock as spin_trylock, unlock as spin_unlock,
    };
    pub use crate::lockdep::sync::barrier_wait;
    pub use crate::lockdep::thread::{join, join_c11};
}

/// How a lock is taken.
#[derive(Clone, Copy)]
struct Way {
    mode: u16,
    tries: bool,
}

const LOCK: Way = Way { mode: 0, tries: false };
const TRY: Way = Way { mode: 0, tries: true };
const READ: Way = Way { mode: mode::READ, tries: false };
const TRY_READ: Way = Way { mode: mode::READ, tries: true };

/// Takes a lock by `take`, lockdep's wrapper. `recurs` says whether the thread may hold it already.
fn acquire<T: Identify>(
    lock: *const T,
    site: u64,
    back: Return,
    way: Way,
    take: impl FnOnce() -> c_int,
    recurs: impl FnOnce(&MeterThread) -> bool,
) -> c_int {
    let Some((thread, ident)) = subject(lock) else { return take() };
    let target = Target { addr: lock as u64, ident, mode: way.mode, site, back };
    let Some(spot) = spot(thread, &target) else { return take() };
    let recurs = recurs(thread);
    wait::prepare(thread);
    spot.cell.begin();
    thread.expect_wait(target.addr, spot.cell);
    let result = take();
    let waited = thread.take_wait();
    match result {
        0 | EOWNERDEAD if recurs && thread.recurse(target.addr) => spot.cell.take_back(),
        0 | EOWNERDEAD => {
            wait::held_after(thread, waited.as_ref(), target.addr, spot, way.mode != 0);
        }
        EBUSY if way.tries => spot.cell.reject(),
        ETIMEDOUT => {
            spot.cell.time_out();
            if let Some(waited) = waited {
                wait::record(thread, &waited);
            }
        }
        _ => spot.cell.take_back(),
    }
    result
}

/// lockdep waits for the lock at `addr` by `block`: that is timed, if it is for an acquisition above.
pub fn timed(addr: u64, owner: u32, block: &mut dyn FnMut() -> c_int) -> c_int {
    if !is_wanted() {
        return block();
    }
    // SAFETY: as `crate::lockmeter::thread`; who has no meter expects no wait.
    let thread = unsafe { &mut *tls::raw() };
    let Some(cell) = thread.expected_wait(addr) else { return block() };
    let contended = Contended { owner: Owner::Was(owner), spins: false, shared: false };
    let (result, waited) = wait::measure(thread, addr, cell, contended, block);
    thread.put_wait(&waited);
    result
}

fn never(_: &MeterThread) -> bool {
    false
}

fn acquire_mutex(
    m: *mut pthread_mutex_t,
    site: u64,
    back: Return,
    way: Way,
    take: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the wrapper's caller's mutex.
    acquire(m, site, back, way, take, |thread| unsafe { mutex::may_recur(m, thread) })
}

pub unsafe extern "C-unwind" fn mutex_lock(
    m: *mut pthread_mutex_t,
    site: u64,
    stack: *const u64,
) -> c_int {
    // SAFETY: forwarded.
    let take = || unsafe { check::mutex_lock(m, site, stack) };
    acquire_mutex(m, site, Return::on_stack(stack), LOCK, take)
}

/// As [`mutex_lock`], of the call that returns by way of `back`.
pub unsafe extern "C-unwind" fn mutex_lock_slowly(
    m: *mut pthread_mutex_t,
    site: u64,
    back: Return,
) -> c_int {
    // SAFETY: forwarded.
    acquire_mutex(m, site, back, LOCK, || unsafe { check::mutex_lock_slowly(m, site, back) })
}

pub unsafe extern "C-unwind" fn mutex_trylock(
    m: *mut pthread_mutex_t,
    site: u64,
    back: Return,
) -> c_int {
    // SAFETY: forwarded.
    acquire_mutex(m, site, back, TRY, || unsafe { check::mutex_trylock(m, site, back) })
}

pub unsafe extern "C-unwind" fn mutex_timedlock(
    m: *mut pthread_mutex_t,
    t: *const timespec,
    site: u64,
    back: Return,
) -> c_int {
    // SAFETY: forwarded.
    acquire_mutex(m, site, back, LOCK, || unsafe { check::mutex_timedlock(m, t, site, back) })
}

pub unsafe extern "C-unwind" fn mutex_clocklock(
    m: *mut pthread_mutex_t,
    c: clockid_t,
    t: *const timespec,
    site: u64,
    back: Return,
) -> c_int {
    // SAFETY: forwarded.
    acquire_mutex(m, site, back, LOCK, || unsafe { check::mutex_clocklock(m, c, t, site, back) })
}

pub unsafe extern "C-unwind" fn mutex_unlock(m: *mut pthread_mutex_t, site: u64) -> c_int {
    // SAFETY: forwarded.
    hold::release_around(m as u64, || unsafe { check::mutex_unlock(m, site) })
}

/// `name: lockdep's, the way`: an acquisition of a reader-writer lock.
macro_rules! rwlock {
    ($($name:ident($($arg:ident: $ty:ty),*): $way:expr;)*) => { $(
        pub unsafe extern "C-unwind" fn $name(
            l: *mut pthread_rwlock_t,
            $($arg: $ty,)*
            site: u64,
            back: Return,
        ) -> c_int {
            // SAFETY: forwarded.
            let take = || unsafe { check::$name(l, $($arg,)* site, back) };
            let result = acquire(l, site, back, $way, take, never);
            if result == 0 && $way.mode != 0 {
                // SAFETY: as above.
                unsafe { rwlock::has_come(l) };
            }
            result
        }
    )* };
}

rwlock! {
    rwlock_rdlock(): READ;
    rwlock_wrlock(): LOCK;
    rwlock_tryrdlock(): TRY_READ;
    rwlock_trywrlock(): TRY;
    rwlock_timedrdlock(t: *const timespec): READ;
    rwlock_timedwrlock(t: *const timespec): LOCK;
    rwlock_clockrdlock(c: clockid_t, t: *const timespec): READ;
    rwlock_clockwrlock(c: clockid_t, t: *const timespec): LOCK;
}

pub unsafe extern "C-unwind" fn rwlock_unlock(l: *mut pthread_rwlock_t, site: u64) -> c_int {
    // SAFETY: forwarded; the caller's lock.
    unsafe { rwlock::release(l, || check::rwlock_unlock(l, site)) }
}

pub unsafe extern "C-unwind" fn spin_lock(
    l: *mut pthread_spinlock_t,
    site: u64,
    back: Return,
) -> c_int {
    // SAFETY: forwarded.
    acquire(as_lock(l), site, back, LOCK, || unsafe { check::spin_lock(l, site, back) }, never)
}

pub unsafe extern "C-unwind" fn spin_trylock(
    l: *mut pthread_spinlock_t,
    site: u64,
    back: Return,
) -> c_int {
    // SAFETY: forwarded.
    acquire(as_lock(l), site, back, TRY, || unsafe { check::spin_trylock(l, site, back) }, never)
}

pub unsafe extern "C-unwind" fn spin_unlock(l: *mut pthread_spinlock_t, site: u64) -> c_int {
    // SAFETY: forwarded.
    hold::release_around(l as u64, || unsafe { check::spin_unlock(l, site) })
}

pub unsafe extern "C-unwind" fn cond_wait(
    c: *mut pthread_cond_t,
    m: *mut pthread_mutex_t,
    site: u64,
) -> c_int {
    // SAFETY: forwarded.
    unsafe { cond::around(m, site, || check::cond_wait(c, m, site)) }
}

pub unsafe extern "C-unwind" fn cond_timedwait(
    c: *mut pthread_cond_t,
    m: *mut pthread_mutex_t,
    t: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: forwarded.
    unsafe { cond::around(m, site, || check::cond_timedwait(c, m, t, site)) }
}

pub unsafe extern "C-unwind" fn cond_clockwait(
    c: *mut pthread_cond_t,
    m: *mut pthread_mutex_t,
    k: clockid_t,
    t: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: forwarded.
    unsafe { cond::around(m, site, || check::cond_clockwait(c, m, k, t, site)) }
}

pub unsafe extern "C-unwind" fn join(t: pthread_t, value: *mut *mut c_void, site: u64) -> c_int {
    // SAFETY: forwarded.
    sync_waits::whole(wait_kind::JOIN, t, site, || unsafe { check::join(t, value, site) })
}

pub unsafe extern "C-unwind" fn thrd_join(t: pthread_t, value: *mut c_int, site: u64) -> c_int {
    // SAFETY: forwarded.
    sync_waits::whole(wait_kind::JOIN, t, site, || unsafe { check::join_c11(t, value, site) })
}

pub unsafe extern "C-unwind" fn barrier_wait(b: *mut pthread_barrier_t, site: u64) -> c_int {
    // SAFETY: forwarded.
    let block = || unsafe { check::barrier_wait(b, site) };
    sync_waits::whole(wait_kind::BARRIER, b as u64, site, block)
}

pub unsafe extern "C-unwind" fn sem_wait(s: *mut sem_t, site: u64, back: Return) -> c_int {
    // SAFETY: forwarded.
    unsafe { sync_waits::sem_whole(s, site, || check::sem_wait(s, site, back)) }
}

pub unsafe extern "C-unwind" fn sem_timedwait(
    s: *mut sem_t,
    t: *const timespec,
    site: u64,
    back: Return,
) -> c_int {
    // SAFETY: forwarded.
    unsafe { sync_waits::sem_whole(s, site, || check::sem_timedwait(s, t, site, back)) }
}

pub unsafe extern "C-unwind" fn sem_clockwait(
    s: *mut sem_t,
    c: clockid_t,
    t: *const timespec,
    site: u64,
    back: Return,
) -> c_int {
    // SAFETY: forwarded.
    unsafe { sync_waits::sem_whole(s, site, || check::sem_clockwait(s, c, t, site, back)) }
}
