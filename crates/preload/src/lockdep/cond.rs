//! Condition waits: the mutex is given up and taken again inside, past our other wrappers.

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use libc::{clockid_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t, timespec};
use lockwright_engines::lockdep::{Acquire, Ident, Misuse, ThreadState};
use lockwright_ledger::rows::{Held, finding_kind, held_flag, mode};

use super::{misuse, mutex, watch};
use crate::callsite;
use crate::debugobjects::used::used_static;
use crate::debugobjects::{Type, attribute_calls, tell, types, waiters};
use crate::libc::real;
use crate::lock_id::identity::{self, Birth, mutex_kind};
use crate::lock_id::side_table::SideTable;
use crate::os::{deadline, tls};
use crate::recorder::state;

type Cond = *mut pthread_cond_t;
type Mutex = *mut pthread_mutex_t;

/// Waits under way on each condition variable: number << 48 | address of the mutex.
static WAITS: SideTable = SideTable::new();

/// Bits of a [`WAITS`] word that are the mutex's address.
const ADDRESS: u64 = (1 << 48) - 1;
/// One wait in a [`WAITS`] word.
const ONE: u64 = 1 << 48;

/// Condition variables that somebody has waited on with another lock kept: of which of the first
/// threads of the ledger it is on record that they signal it.
static KEPT: SideTable = SideTable::new();
/// There is one in [`KEPT`]: read by the stubs.
pub static SIGNALS_MATTER: AtomicBool = AtomicBool::new(false);
/// Bit of a [`KEPT`] word that is none of a thread's: nothing there may be 0.
const IS_KEPT: u64 = 1;

pub unsafe extern "C-unwind" fn wait(c: Cond, m: Mutex, site: u64) -> c_int {
    // SAFETY: forwarded.
    unsafe { around(c, m, site, 0, || real::pthread_cond_wait(c, m)) }
}

pub unsafe extern "C-unwind" fn timedwait(
    c: Cond,
    m: Mutex,
    t: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: the caller's deadline.
    if !unsafe { deadline::is_time(t) } {
        // It does not come to wait, and gives nothing up.
        // SAFETY: forwarded.
        return unsafe { real::pthread_cond_timedwait(c, m, t) };
    }
    // SAFETY: forwarded.
    unsafe { around(c, m, site, mode::TIMED, || real::pthread_cond_timedwait(c, m, t)) }
}

pub unsafe extern "C-unwind" fn clockwait(
    c: Cond,
    m: Mutex,
    clock: clockid_t,
    t: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: the caller's deadline.
    if !deadline::is_clock(clock) || !unsafe { deadline::is_time(t) } {
        // As above.
        // SAFETY: forwarded.
        return unsafe { real::pthread_cond_clockwait(c, m, clock, t) };
    }
    // SAFETY: forwarded.
    unsafe { around(c, m, site, mode::TIMED, || real::pthread_cond_clockwait(c, m, clock, t)) }
}

pub unsafe extern "C-unwind" fn init(
    c: Cond,
    attr: *const pthread_condattr_t,
    _site: u64,
) -> c_int {
    attribute_calls::made_by(&types::CONDATTR, attr);
    // SAFETY: forwarded.
    init_by(&types::COND, c, || unsafe { real::pthread_cond_init(c, attr) })
}

/// A condition variable is initialised by `init`, which answers 0 if it was, as an object of
/// `kind`.
pub fn init_by(kind: &'static Type, c: Cond, init: impl FnOnce() -> c_int) -> c_int {
    let before = tell::initialises(kind, c as u64);
    forget(c);
    let result = init();
    if result == 0 {
        tell::initialised(kind, c as u64, before, None);
    }
    result
}

pub unsafe extern "C-unwind" fn destroy(c: Cond, _site: u64) -> c_int {
    // SAFETY: forwarded.
    destroy_by(c, || unsafe { real::pthread_cond_destroy(c) })
}

/// A condition variable is destroyed by `destroy`, which answers 0 if it was.
pub fn destroy_by(c: Cond, destroy: impl FnOnce() -> c_int) -> c_int {
    let before = tell::destroys(&types::COND, c as u64);
    // It waits for waiters that are on their way out.
    let result = destroy();
    forget(c);
    if result == 0 {
        tell::destroyed(&types::COND, c as u64, before, None);
    }
    result
}

/// A function that signals has found bytes in a condition variable that none has which may be used,
/// or it matters who signals.
pub unsafe extern "C-unwind" fn signal_strange(c: Cond) -> c_int {
    signalled(c);
    // SAFETY: forwarded.
    unsafe { real::pthread_cond_signal(c) }
}

/// As [`signal_strange`].
pub unsafe extern "C-unwind" fn broadcast_strange(c: Cond) -> c_int {
    signalled(c);
    // SAFETY: forwarded.
    unsafe { real::pthread_cond_broadcast(c) }
}

/// As [`signal_strange`], of C11's.
pub unsafe extern "C-unwind" fn cnd_signal_strange(c: Cond) -> c_int {
    signalled(c);
    // SAFETY: forwarded.
    unsafe { real::cnd_signal(c) }
}

/// As [`cnd_signal_strange`].
pub unsafe extern "C-unwind" fn cnd_broadcast_strange(c: Cond) -> c_int {
    signalled(c);
    // SAFETY: forwarded.
    unsafe { real::cnd_broadcast(c) }
}

/// The condition variable is about to be signalled.
fn signalled(c: Cond) {
    used_static(&types::COND, c as u64);
    // Relaxed: a word that says nothing about other memory.
    if SIGNALS_MATTER.load(Relaxed)
        && let Some(word) = KEPT.word(c as u64).filter(|word| word.load(Relaxed) != 0)
        && let Some(thread) = watch::thread()
    {
        let bit = 1u64.checked_shl(thread.id()).unwrap_or(0) & !IS_KEPT;
        if word.load(Relaxed) & bit == 0 {
            misuse::signals(thread, c as u64);
            word.fetch_or(bit, Relaxed);
        }
    }
}

/// A wait on the condition variable keeps another lock: from now on it matters who signals it.
fn keep(c: Cond) {
    let kept = state::with_core(|_| {
        // Anew: in a forked child other threads have the numbers. What is on record is not recorded
        // again.
        KEPT.insert(c as u64, Ident(IS_KEPT));
        KEPT.word(c as u64)
    });
    if kept.flatten().is_some() {
        SIGNALS_MATTER.store(true, Relaxed);
    }
}

/// A condition variable's life is over, or begins: nobody waits on it.
fn forget(c: Cond) {
    for word in [&WAITS, &KEPT].into_iter().filter_map(|table| table.word(c as u64)) {
        word.store(0, Relaxed);
    }
}

/// Waits, visibly to whoever destroys the condition variable meanwhile. `node` is the context, 0 if
/// there is none.
fn visibly(c: Cond, node: u32, wait: impl FnOnce() -> c_int) -> c_int {
    let noted = waiters::begin(&types::COND, c as u64, node);
    let result = wait();
    waiters::end(noted);
    result
}

unsafe fn around(c: Cond, m: Mutex, site: u64, timed: u16, wait: impl FnOnce() -> c_int) -> c_int {
    used_static(&types::COND, c as u64);
    // SAFETY: as `watch::thread`.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else { return visibly(c, 0, wait) };
    let Some(i) = thread.find(m as u64) else {
        // SAFETY: the caller's mutex.
        return unsafe { not_held(thread, c, m, site, wait) };
    };
    let held = thread.held()[i as usize - 1];
    let lock = Acquire {
        addr: c as u64,
        ident: Ident::new(held.inst, held.class),
        mode: mode::COND_WAIT | timed,
        site,
    };
    let (node, is_new) = watch::wait_context(thread, &lock);
    // Released for the time of the wait, which a pin forbids.
    misuse::pinned(thread, m as u64);
    watch::hands_over(thread, m as u64);
    if is_new && others_held(thread, m as u64) {
        let what = Misuse {
            mode: lock.mode,
            detail: c as u64,
            ..Misuse::new(finding_kind::WAIT_HELD, m as u64, lock.ident)
        };
        misuse::tell(thread, &what);
        keep(c);
    }
    let waits = enter(thread, c, m, lock.ident);
    thread.wait_begin(&lock, node);
    let wait = || visibly(c, node, wait);
    let result = match thread.depth() {
        // Held alone it comes back where it was: no new order. The entry stays, marked, so that a
        // cleanup handler that runs when the wait is cancelled finds the mutex held, as it is.
        1 => {
            thread.cond_release(m as u64);
            let result = wait();
            thread.cond_reacquired(m as u64);
            result
        }
        _ => {
            callsite::released(thread, m as u64);
            thread.release(m as u64);
            nested(thread, m as u64, lock.ident, site, wait)
        }
    };
    thread.wait_end();
    if let Some(word) = waits {
        leave(word);
    }
    result
}

/// Other locks stay held: coming back, the mutex is taken inside them. That is an order of its own
/// even if it was the last one taken: it may have been tried for then, or taken before a thread was
/// created that takes both. It is put on record before the wait.
#[cold]
fn nested(
    thread: &mut ThreadState,
    address: u64,
    ident: Ident,
    site: u64,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    let known = watch::before(thread, address, ident, mode::COND_REACQUIRE, site);
    // As for the lock held alone: a cleanup handler is to find the mutex held.
    if known {
        thread.cond_reserved(address);
    }
    let result = wait();
    if known {
        thread.cond_reacquired(address);
    }
    result
}

/// A condition wait with a mutex that the thread does not hold. A mutex that knows its owner
/// refuses; any other is unlocked, whoever holds it, and held by the thread when the wait is over.
#[cold]
unsafe fn not_held(
    thread: &mut ThreadState,
    c: Cond,
    m: Mutex,
    site: u64,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the caller's mutex.
    let (locked, known) = unsafe { (mutex::is_locked(m), identity::known(m)) };
    let ident = match known {
        // Nobody has locked it yet: that is the news.
        // SAFETY: as above.
        None if !locked => unsafe { identity::identify(m, Birth::FirstAcquire) },
        _ => known,
    };
    // Locked before there was anybody to see it.
    let Some(ident) = ident else { return visibly(c, 0, wait) };
    // SAFETY: as above.
    let kind = unsafe { identity::kind_of(m) };
    if kind & (mutex_kind::TYPE | mutex_kind::ROBUST) != 0 {
        let result = visibly(c, 0, wait);
        if result == libc::EPERM {
            misuse::unlock_refused_by(thread, m as u64, ident, result, mode::COND_WAIT);
        }
        return result;
    }
    // Before the wait, of which nobody knows whether it ends.
    misuse::bad_unlock_by(thread, m as u64, ident, locked, mode::COND_WAIT);
    nested(thread, m as u64, ident, site, || visibly(c, 0, wait))
}

fn others_held(thread: &ThreadState, address: u64) -> bool {
    // A semaphore may be kept for another thread to post.
    let is_kept = |held: &Held| held.is_held() && held.flags & held_flag::SEMAPHORE == 0;
    thread.held().iter().any(|held| is_kept(held) && held.addr != address)
}

/// Counts a wait, and tells if those under way on the same condition variable gave another mutex.
fn enter(
    thread: &mut ThreadState,
    c: Cond,
    m: Mutex,
    ident: Ident,
) -> Option<&'static core::sync::atomic::AtomicU64> {
    let (key, mutex) = (c as u64, m as u64 & ADDRESS);
    let word = WAITS.word(key).or_else(|| {
        state::with_core(|_| {
            if WAITS.word(key).is_none() {
                WAITS.insert(key, Ident(mutex));
            }
            WAITS.word(key)
        })?
    })?;
    // Relaxed: a count and an address that say nothing about other memory.
    let before = word
        .fetch_update(Relaxed, Relaxed, |old| {
            let waits = old >> 48;
            let address = if waits == 0 { mutex } else { old & ADDRESS };
            Some(waits.wrapping_add(1) << 48 | address)
        })
        .unwrap_or(0);
    if before >> 48 != 0 && before & ADDRESS != mutex {
        let other = state::with_core(|core| core.cond_waiter(key, thread.id())).flatten();
        let what = Misuse {
            detail: before & ADDRESS,
            other_thread: other.map_or(0, |other| other.0),
            other_stack: other.map_or(0, |other| other.1),
            ..Misuse::new(finding_kind::COND_MISMATCH, key, ident)
        };
        misuse::tell(thread, &what);
    }
    Some(word)
}

/// A wait on the condition variable at `c` ended without its function's return.
pub fn left(c: u64) {
    if let Some(word) = WAITS.word(c) {
        leave(word);
    }
}

fn leave(word: &core::sync::atomic::AtomicU64) {
    let _ = word.fetch_update(Relaxed, Relaxed, |old| (old >> 48 != 0).then(|| old - ONE));
}
