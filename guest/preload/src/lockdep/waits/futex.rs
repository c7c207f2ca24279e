//! Waits at futexes: which thread waits where, to explain a hanging program, and with which locks held. What the futex is, the
//! reader finds by the names of functions.
//!
//! While a thread waits so with a lock kept, those that wake it are recorded, as those are that signal a condition variable:
//! with what each has taken since it last told others of anything. A word of memory has no end that is seen, so a wake at any
//! other time says nothing.

use core::ffi::c_long;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use lockwright_engines::lockdep::{FutexWait, Ident, ThreadState};

use crate::futex::{Stack, Wait};
use crate::lock_id::side_table::SideTable;
use crate::lockdep::{cond, watch};
use crate::os::{time, tls};
use crate::recorder::state;

/// Words at which a thread has waited with a lock kept: the thread's row, and [`WAITS`] as long as it does.
static KEPT: SideTable = SideTable::new();
/// There is one in [`KEPT`].
static IS_KEPT: AtomicBool = AtomicBool::new(false);
/// How many there are, and may be.
static WORDS: AtomicU64 = AtomicU64::new(0);
const MOST_WORDS: u64 = 4096;

/// A thread waits there.
const WAITS: u32 = 1;
const WAITS_NOT: u32 = 2;

/// The calling thread is in a wait that is seen: for a lock of an interposed library that waits by
/// a futex.
pub fn is_in_wait() -> bool {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    unsafe { tls::get().as_mut() }.is_some_and(|thread| thread.wait_frame().is_some())
}

/// Waits by `block`; for as long, the ledger says where and since when.
pub fn during(wait: &Wait, stack: &Stack, block: impl FnOnce() -> c_long) -> c_long {
    let thread = match crate::lockdep::is_wanted() {
        true => watch::thread(),
        false => None,
    };
    let Some(thread) = thread else { return block() };
    let begins = FutexWait {
        addr: wait.addr,
        word: wait.word,
        call: wait.call,
        is_timed: wait.is_timed,
        stack: stack.row(),
        since_ns: time::now_ns(),
    };
    let kept = match !thread.is_idle() && !begins.is_timed {
        true => keeps_locks(thread, &begins),
        false => None,
    };
    thread.futex_wait_begin(&begins);
    let result = block();
    thread.wait_end();
    if let Some(word) = kept {
        word.store(Ident::new(thread.id(), WAITS_NOT).0, Relaxed);
    }
    result
}

/// The thread is about to wait, and perhaps holds locks. The word of [`KEPT`], where wakes are recorded meanwhile.
#[cold]
#[inline(never)]
fn keeps_locks(thread: &mut ThreadState, wait: &FutexWait) -> Option<&'static AtomicU64> {
    if wait.stack == 0 {
        return None;
    }
    let now = Ident::new(thread.id(), WAITS);
    if thread.has_told_futex_wait(wait) {
        // It may wait once more for the same.
        let word = KEPT.word(wait.addr)?;
        let was = Ident(word.load(Relaxed));
        return (was.inst() == thread.id()).then(|| {
            word.store(now.0, Relaxed);
            word
        });
    }
    let word = state::with_core(|core| {
        let is_known = KEPT.word(wait.addr).is_some();
        if !core.waits_at_futex(thread, wait) || !is_known && WORDS.load(Relaxed) >= MOST_WORDS {
            return None;
        }
        // Relaxed: a bound, changed with the core's lock held.
        WORDS.store(WORDS.load(Relaxed) + u64::from(!is_known), Relaxed);
        KEPT.insert(wait.addr, now);
        KEPT.word(wait.addr)
    })??;
    IS_KEPT.store(true, Relaxed);
    Some(word)
}

/// The calling thread is about to wake threads that wait at `addr`, by a call with this stack.
pub fn wakes(addr: u64, stack: &Stack) {
    let Some(thread) = watch::thread() else { return };
    thread.shares();
    // Relaxed: words that say nothing about other memory.
    if IS_KEPT.load(Relaxed) && KEPT.get(addr).is_some_and(|kept| kept.class() == WAITS) {
        cond::ends_kept_wait(thread, addr, &mut |frames| stack.copy_to(frames));
    }
}

/// In a forked child: nobody waits.
pub fn begin() {
    // A page that is not written to is none for the kernel to copy.
    if IS_KEPT.load(Relaxed) {
        KEPT.clear();
        WORDS.store(0, Relaxed);
        IS_KEPT.store(false, Relaxed);
    }
}
