//! Condition waits: the mutex' hold ends, and another begins when the wait is over.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use libc::{clockid_t, pthread_cond_t, pthread_mutex_t, timespec};
use lockwright_engines::lockdep::Ident;
use lockwright_engines::lockmeter::{Call, MeterThread, key};
use lockwright_ledger::rows::meter::{site_flag, wait_kind};
use lockwright_ledger::rows::mode;

use super::attached::thread;
use super::meter::WHAT;
use super::spots::{cell_of, wait_site};
use super::target::Spot;
use super::{hold, record, sync_waits, wait};
use crate::libc::real;
use crate::lock_id::identity::{self, Identify};
use crate::os::deadline;

type Cond = *mut pthread_cond_t;
type Mutex = *mut pthread_mutex_t;

/// `pthread_cond_wait`.
///
/// # Safety
/// The arguments keep the contract of `pthread_cond_wait`; the stub passes `site`.
pub unsafe extern "C-unwind" fn wait(c: Cond, m: Mutex, site: u64) -> c_int {
    // SAFETY: the next `pthread_cond_wait` gets the program's own `c` and `m` unchanged, as without
    // us.
    unsafe { around(m, site, || real::pthread_cond_wait(c, m)) }
}

/// `pthread_cond_timedwait`.
///
/// # Safety
/// The arguments keep the contract of `pthread_cond_timedwait`; the stub passes `site`.
pub unsafe extern "C-unwind" fn timedwait(
    c: Cond,
    m: Mutex,
    t: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: the next `pthread_cond_timedwait` gets the program's own arguments unchanged, as
    // without us.
    let block = || unsafe { real::pthread_cond_timedwait(c, m, t) };
    // SAFETY: `m` is the program's own mutex, and `t` its deadline or null.
    unsafe {
        match deadline::is_time(t) {
            true => around(m, site, block),
            false => block(),
        }
    }
}

/// `pthread_cond_clockwait`.
///
/// # Safety
/// The arguments keep the contract of `pthread_cond_clockwait`; the stub passes `site`.
pub unsafe extern "C-unwind" fn clockwait(
    c: Cond,
    m: Mutex,
    clock: clockid_t,
    t: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: the next `pthread_cond_clockwait` gets the program's own arguments unchanged, as
    // without us.
    let block = || unsafe { real::pthread_cond_clockwait(c, m, clock, t) };
    // SAFETY: `m` is the program's own mutex, and `t` its deadline or null.
    unsafe {
        match deadline::is_time(t) && deadline::is_clock(clock) {
            true => around(m, site, block),
            false => block(),
        }
    }
}

/// A condition wait, by `block`, that gives up `m` and takes it again.
///
/// # Safety
/// `m` points to the lock that the caller gives up; `site` is the call's return address.
pub unsafe fn around<L: Identify>(m: *mut L, site: u64, block: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = thread() else { return block() };
    // SAFETY: the program passed `m` to this call, so it points to its mutex, as `known` asks.
    let (Some(ident), Some(held)) = (unsafe { identity::known(m) }, thread.entry_of(m as u64))
    else {
        return block();
    };
    if MeterThread::recursion_of(&held) != 0 {
        // Given up only in part, if at all: undefined by POSIX, and left alone.
        return block();
    }
    let (address, site) = (site, wait_site(site));
    let waiting = Call {
        class: ident.class(),
        addr: m as u64,
        mode: mode::COND_WAIT,
        wait: wait_kind::COND,
        site,
        ..Call::default()
    };
    let cell = cell_of(thread, key(class(ident), mode::COND_WAIT, site), &waiting, address);
    // The hold ends here, as far as we can see: nothing comes between the mutex's release and the
    // wait, which are one call.
    hold::give_up(thread, m as u64);
    let (result, waited) = sync_waits::timed(thread, cell, m as u64, block);
    match (reacquired(thread, m as u64, ident, site, address), waited) {
        (Some(spot), waited) => {
            wait::held_after(thread, waited.as_ref(), m as u64, spot, false);
        }
        (None, Some(waited)) => record::wait(thread, &waited),
        (None, None) => {}
    }
    result
}

fn class(ident: Ident) -> u64 {
    u64::from(ident.class()) << 32
}

/// The mutex is held again; what that took is part of the condition wait. The cell to count it in.
fn reacquired(
    thread: &mut MeterThread,
    addr: u64,
    ident: Ident,
    site: u64,
    address: u64,
) -> Option<Spot> {
    let what = WHAT.load(Relaxed);
    let call = Call {
        class: ident.class(),
        inst: (ident.0 & what) as u32,
        addr,
        flags: site_flag::COND_REACQUIRE,
        site,
        ..Call::default()
    };
    let cell = cell_of(thread, key(ident.0 & what, mode::COND_REACQUIRE, site), &call, address)?;
    cell.begin();
    thread.has_room().then_some(Spot { cell, trial: None })
}
