//! Condition waits: the mutex is given up and taken again inside, past our other wrappers.

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use libc::{pthread_cond_t, pthread_mutex_t};
use lockwright_engines::Capture;
use lockwright_engines::lockdep::{Acquire, Ident, Misuse, ThreadState};
use lockwright_ledger::rows::meter::blocking_call;
use lockwright_ledger::rows::{Held, event, finding_kind, held_flag, mode};

use crate::callsite;
use crate::lock_id::identity::{self, Birth, mutex_kind};
use crate::lock_id::side_table::SideTable;
use crate::lockdep::{
    cond_waits, handed_on, left_held, misuse, monitors, release, taken_signals, watch,
};
use crate::os::{time, tls};
use crate::recorder::measured::{Short, measured_short};
use crate::recorder::{cond_signals, state};
use crate::stack::python;

type Cond = *mut pthread_cond_t;
type Mutex = *mut pthread_mutex_t;

/// The word of [`cond_waits`] for each condition variable.
static WAITS: SideTable = SideTable::new();

/// The mutex that a condition variable was waited on with last: its identity, and [`UNTIMED`].
#[unsafe(link_section = "lockwright_forked")]
static MUTEXES: SideTable = SideTable::new();

/// Bit of a [`MUTEXES`] word, in the half that is a class: a thread waited that cannot give up.
const UNTIMED: u64 = 1 << 63;

/// Condition variables and semaphores that somebody has waited for with another lock kept.
static KEPT: SideTable = SideTable::new();
/// There is one in [`KEPT`].
static IS_KEPT: AtomicBool = AtomicBool::new(false);

/// The condition variable is about to be signalled, `to_all` who wait or to one, by a call that
/// returns to `site`.
pub fn signalled(c: Cond, site: u64, to_all: bool) {
    measured_short(|| signalled_unmeasured(c, site, to_all));
}

fn signalled_unmeasured(c: Cond, site: u64, to_all: bool) {
    let Some(thread) = watch::thread() else { return };
    thread.did(event::SIGNAL);
    monitors::signals(thread);
    if !thread.is_idle() && thread.in_signal() == 0 {
        holding(thread, c as u64);
    }
    // A condition variable without waiters so far: the signal wakes no thread.
    let Some(Ident(word)) = MUTEXES.get(c as u64) else {
        return handed_on::signals_nobody(thread, c as u64);
    };
    let mutex = Ident(word & !UNTIMED);
    let is_waited_on = WAITS.word(c as u64).is_some_and(|waits| cond_waits::signal(waits, to_all));
    match is_waited_on {
        true => handed_on::signals(thread, c as u64, mutex),
        false => handed_on::signals_nobody(thread, c as u64),
    }
    thread.signals();
    wakes(thread, c as u64);
    taken_signals::signalled(thread, c as u64, mutex, site, to_all);
    // A handler is not its thread's doing, and must not signal at all.
    if !thread.holds(mutex.inst()) && thread.in_signal() == 0 {
        let timed = if word & UNTIMED == 0 { mode::TIMED } else { 0 };
        bare(thread, c, mutex, mode::COND_SIGNAL | timed, site);
    }
}

/// The semaphore at `addr`, which is no lock, is about to be posted, which has been counted.
pub fn posts(addr: u64) {
    // Relaxed: a word that says nothing about other memory.
    if IS_KEPT.load(Relaxed)
        && let Some(thread) = watch::thread()
    {
        wakes(thread, addr);
    }
}

/// The thread is about to signal or post the object at `addr`, which has been counted.
fn wakes(thread: &mut ThreadState, addr: u64) {
    // Relaxed: a word that says nothing about other memory.
    if IS_KEPT.load(Relaxed) && KEPT.get(addr).is_some() {
        ends_kept_wait(thread, addr, &mut python::capture);
    }
}

/// The thread is about to end a wait for the object at `addr` with a lock kept, which has been counted.
pub fn ends_kept_wait(thread: &mut ThreadState, addr: u64, capture: Capture<'_>) {
    let probe = thread.probe_signal(addr);
    if !probe.is_hit() {
        let now = time::now_ns();
        state::with_core(|core| core.signalled(thread, addr, probe, now, capture));
    }
}

/// The thread is about to signal a condition variable with locks held.
fn holding(thread: &mut ThreadState, addr: u64) {
    let probe = thread.probe_signal_holding(addr);
    if !probe.is_hit() {
        let now = time::now_ns();
        state::with_core(|core| {
            core.signalled_holding(thread, addr, probe, now, &mut python::capture);
        });
    }
}

/// A signal by a thread that does not hold the mutex of those who wait.
fn bare(thread: &mut ThreadState, c: Cond, mutex: Ident, mode: u16, site: u64) {
    let id = thread.id();
    misuse::at_call(thread, mutex, mode, site, |core| {
        let (other_thread, other_stack) = core.cond_waiter(c as u64, id).unwrap_or_default();
        let what = Misuse::new(finding_kind::BARE_SIGNAL, c as u64, mutex);
        Some(Misuse { mode, other_thread, other_stack, ..what })
    });
}

/// A wait for the object keeps a lock: from now on its signallers or posters matter.
pub fn keep(addr: u64) {
    let kept = state::with_core(|_| {
        KEPT.insert(addr, Ident(1));
        KEPT.get(addr)
    });
    if kept.flatten().is_some() {
        IS_KEPT.store(true, Relaxed);
    }
}

/// The object's life is over, or begins: nobody waits for it.
pub fn forget_kept(addr: u64) {
    if let Some(word) = KEPT.word(addr) {
        word.store(0, Relaxed);
    }
}

/// A ledger begins. In a forked child identities of the parent's mean nothing.
pub fn begin() {
    MUTEXES.clear();
    taken_signals::begin();
    handed_on::begin();
    monitors::begin();
}

/// A condition variable is waited on with this mutex.
fn remember_mutex(c: Cond, mutex: Ident, timed: u16) {
    let known = MUTEXES.get(c as u64).map_or(0, |known| known.0);
    let untimed = if timed == 0 { UNTIMED } else { 0 };
    let word = mutex.0 | untimed | known & UNTIMED;
    if word != known {
        state::with_core(|_| MUTEXES.insert(c as u64, Ident(word)));
        cond_signals::matter();
    }
}

/// A condition variable's life is over, or begins: nobody waits on it.
pub fn forget(c: Cond) {
    for word in [&WAITS, &KEPT, &MUTEXES].into_iter().filter_map(|table| table.word(c as u64)) {
        word.store(0, Relaxed);
    }
    taken_signals::forget(c as u64);
}

/// The memory in `[from, to)` is gone, and all that is there. The caller has the core's lock.
pub fn forget_in(from: u64, to: u64) {
    [&WAITS, &KEPT, &MUTEXES].into_iter().for_each(|table| table.remove_range(from, to));
    taken_signals::forget_in(from, to);
}

/// The calling thread holds the lock at `address`, as far as is known.
pub fn is_held(address: u64) -> bool {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    unsafe { tls::get().as_ref() }.is_some_and(|thread| thread.find(address).is_some())
}

/// Waits on `c` by `wait`, which gives `m` up and takes it again. It is given the wait's context, 0
/// if there is none. `timed` is [`mode::TIMED`] if the wait ends by itself, else 0.
///
/// # Safety
/// The caller's condition variable and mutex; `site` is as the stub passes it.
pub unsafe fn wait(
    c: Cond,
    m: Mutex,
    site: u64,
    timed: u16,
    wait: impl FnOnce(u32) -> c_int,
) -> c_int {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else { return wait(0) };
    let Some(i) = thread.find(m as u64) else {
        // SAFETY: the caller promises its mutex, and the stub's `site`, as `not_held` asks.
        return unsafe { not_held(m, site, wait) };
    };
    // Before the wait and after it; the wait itself is the program's.
    let before = Short::begin();
    thread.did(event::COND_WAIT);
    let held = thread.held_at(i);
    let lock = Acquire {
        addr: c as u64,
        ident: Ident::new(held.inst, held.class),
        mode: mode::COND_WAIT | timed,
        site,
    };
    let (node, is_new) = watch::wait_context(thread, &lock);
    // Released for the time of the wait, which a pin forbids.
    misuse::pinned(thread, m as u64);
    release::hands_over(thread, m as u64);
    left_held::released(thread, m as u64);
    if is_new && others_held(thread, m as u64) {
        let what = Misuse {
            mode: lock.mode,
            detail: c as u64,
            ..Misuse::new(finding_kind::WAIT_HELD, m as u64, lock.ident)
        };
        misuse::tell(thread, &what);
        keep(c as u64);
    }
    left_held::idles_without(const { blocking_call("pthread_cond_wait") }, site, m as u64);
    remember_mutex(c, lock.ident, timed);
    let waits = enter(thread, c, m, lock.ident);
    let begun = taken_signals::waits(thread, c as u64, node, lock.ident, site);
    let since = handed_on::now();
    // SAFETY: the caller promises its mutex.
    let section = unsafe { monitors::waits(thread, m, timed != 0) };
    thread.wait_begin(&lock, node);
    before.end();
    let wait = || wait(node);
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
            callsite::given_up(thread, m as u64);
            thread.release(m as u64);
            monitors::blocks(thread, m as u64, lock.ident, section);
            nested(thread, m as u64, lock.ident, site, wait)
        }
    };
    let after = Short::begin();
    thread.wait_end();
    // SAFETY: the same.
    unsafe { monitors::woken(thread, m, timed != 0, result, section) };
    if let Some(word) = waits {
        cond_waits::leave(word, result == 0);
    }
    if let Some(begun) = begun {
        taken_signals::woken(thread, c as u64, begun, result);
    }
    if result == 0 && since != handed_on::now() {
        handed_on::woken(thread, c as u64, since);
    }
    after.end();
    result
}

/// Other locks stay held: coming back, the mutex is taken inside them. That is an order of its own
/// even if it was the last one taken: it may have been tried for then, or taken before a thread was
/// created that takes both. It is recorded before the wait.
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
/// refuses; any other is unlocked, whichever thread holds it, and this thread holds it when the
/// wait is over.
///
/// # Safety
/// `m` points to the caller's mutex; `site` is as the stub passes it.
#[cold]
unsafe fn not_held(m: Mutex, site: u64, wait: impl FnOnce(u32) -> c_int) -> c_int {
    // SAFETY: the program passed `m` to this call, so it points to its mutex, as `is_locked` asks.
    let (locked, known) = unsafe { (identity::is_locked(m), identity::known(m)) };
    let ident = match known {
        // Nobody has locked it yet: that is the news.
        // SAFETY: the program passed `m` to this call, so it points to its mutex, as `identify`
        // asks.
        None if !locked => unsafe { identity::identify(m, Birth::FirstAcquire) },
        _ => known,
    };
    // Locked before there was anybody to see it.
    let Some((thread, ident)) = watch::own().zip(ident) else { return wait(0) };
    // SAFETY: the program passed `m` to this call, so it points to its mutex, as `kind_of` asks.
    let kind = unsafe { identity::kind_of(m) };
    if kind & (mutex_kind::TYPE | mutex_kind::ROBUST) != 0 {
        let result = wait(0);
        if result == libc::EPERM {
            misuse::unlock_refused_by(thread, m as u64, ident, result, mode::COND_WAIT);
        }
        return result;
    }
    // Before the wait, of which nobody knows whether it ends.
    misuse::bad_unlock_by(thread, m as u64, ident, locked, mode::COND_WAIT);
    nested(thread, m as u64, ident, site, || wait(0))
}

/// Whether the thread holds other locks than the one at `address`, not counting semaphores: one may be kept for another thread to
/// post.
pub fn others_held(thread: &ThreadState, address: u64) -> bool {
    any_held(thread, address, |held| held.flags & held_flag::SEMAPHORE == 0)
}

/// As [`others_held`], with semaphores.
pub fn any_others_held(thread: &ThreadState, address: u64) -> bool {
    any_held(thread, address, |_| true)
}

fn any_held(thread: &ThreadState, address: u64, counts: impl Fn(&Held) -> bool) -> bool {
    thread.held().any(|held| held.is_held() && held.addr != address && counts(&held))
}

/// Counts a wait, and reports if threads are blocked on the condition variable with another mutex.
fn enter(
    thread: &mut ThreadState,
    c: Cond,
    m: Mutex,
    ident: Ident,
) -> Option<&'static core::sync::atomic::AtomicU64> {
    let (key, mutex) = (c as u64, m as u64);
    let word = WAITS.word(key).or_else(|| {
        state::with_core(|_| {
            if WAITS.word(key).is_none() {
                WAITS.insert(key, Ident(cond_waits::unused(mutex)));
            }
            WAITS.word(key)
        })?
    })?;
    if let Some(bound) = cond_waits::enter(word, mutex).ok()? {
        let other = state::with_core(|core| core.cond_waiter(key, thread.id())).flatten();
        let what = Misuse {
            detail: bound,
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
        cond_waits::leave(word, false);
    }
}
