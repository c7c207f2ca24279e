//! Signals of a condition variable, and posts of a semaphore, that wake a thread, as long as the engine wants to hear of them.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use lockwright_engines::lockdep::{Ident, ThreadState};

use crate::lockdep::watch;
use crate::os::time;
use crate::recorder::state;
use crate::stack::python;

/// How many the engine has recorded.
#[unsafe(link_section = "lockwright_forked")]
static SIGNALS: AtomicU32 = AtomicU32::new(0);
/// It wants no more.
#[unsafe(link_section = "lockwright_forked")]
static IS_FULL: AtomicBool = AtomicBool::new(false);

// Every access is Relaxed: what the engine records of a signal is guarded by its lock. A thread that sees the count too late
// records one wake-up less.

/// A ledger begins.
pub fn begin() {
    // A forked child leaves the page that it shares alone.
    if SIGNALS.load(Relaxed) != 0 || IS_FULL.load(Relaxed) {
        SIGNALS.store(0, Relaxed);
        IS_FULL.store(false, Relaxed);
    }
}

/// The moment, for [`woken`].
pub fn now() -> u32 {
    SIGNALS.load(Relaxed)
}

/// The thread is about to signal the condition variable at `c`, or to post the semaphore there, for which a thread waits;
/// with the mutex `mutex`, if it has one.
pub fn signals(thread: &mut ThreadState, c: u64, mutex: Ident) {
    // A handler is not its thread's doing, and must not signal at all.
    if IS_FULL.load(Relaxed) || thread.in_signal() != 0 {
        return;
    }
    let probe = thread.probe_hand_on(c);
    if probe.is_hit() {
        return;
    }
    let now = time::now_ns();
    state::with_core(|core| {
        core.hands_on(thread, (c, mutex), probe, now, &mut python::capture);
        let (signals, is_open) = core.hand_ons();
        SIGNALS.store(signals, Relaxed);
        IS_FULL.store(!is_open, Relaxed);
    });
}

/// The thread is about to signal the condition variable at `c`, on which nobody waits.
pub fn signals_nobody(thread: &mut ThreadState, c: u64) {
    if IS_FULL.load(Relaxed) || thread.in_signal() != 0 {
        return;
    }
    let probe = thread.probe_unheard(c);
    if !probe.is_hit() {
        state::with_core(|core| {
            core.signals_nobody(thread, c, probe);
            IS_FULL.store(!core.hand_ons().1, Relaxed);
        });
    }
}

/// The thread was woken in a wait at `c`, which began when [`now`] was `since`.
#[cold]
pub fn woken(thread: &mut ThreadState, c: u64, since: u32) {
    let now = time::now_ns();
    state::with_core(|core| core.handed_on(thread, c, since, now));
}

/// The calling thread is about to post the semaphore at `s`, for which a thread waits.
pub fn posts(s: u64) {
    if !IS_FULL.load(Relaxed)
        && let Some(thread) = watch::thread()
    {
        signals(thread, s, Ident::NONE);
    }
}

/// The calling thread was granted a wait for the semaphore at `s`, which began when [`now`] was `since`.
#[cold]
pub fn granted(s: u64, since: u32) {
    if let Some(thread) = watch::thread() {
        woken(thread, s, since);
    }
}
