//! Signals of a condition variable that wake the wrong one of those who wait for different things.
//!
//! `pthread_cond_signal` wakes one of them. That one may find that its event has not happened, and
//! wait again. Then the signal is gone, and the waiter that it was meant for sleeps on. A signal
//! counts as taken if a woken thread has acquired and signalled nothing since, and waits again in
//! the same place, while another waits elsewhere. The reader decides by the signallers whether that
//! was wrong.
//!
//! Looked at only where threads wait on one condition variable in several places.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lockwright_engines::lockdep::{Ident, Misuse, ThreadState};
use lockwright_ledger::rows::{finding_kind, mode};

use crate::lock_id::side_table::SideTable;
use crate::lockdep::misuse;
use crate::recorder::state;

/// By condition variable: the context of the last wait in the lower half, then how many signals and
/// broadcasts there were, modulo 2^16 and 2^15, and [`MIXED`].
#[unsafe(link_section = "lockwright_forked")]
static WAITED: SideTable = SideTable::new();

/// There have been waits in different contexts.
const MIXED: u64 = 1 << 63;
/// Where the number of signals begins.
const SIGNALS: u32 = 32;
/// Where the number of broadcasts begins.
const BROADCASTS: u32 = 48;
/// Bits of the number of signals.
const ALL_SIGNALS: u64 = 0xffff << SIGNALS;
/// Bits of the number of broadcasts.
const ALL_BROADCASTS: u64 = 0x7fff << BROADCASTS;

/// By thread: what it was like when a signal had woken it, see [`likeness`]; 0 if none has.
#[unsafe(link_section = "lockwright_forked")]
static WOKEN: SideTable = SideTable::new();

/// By thread: how often it was woken for nothing.
#[unsafe(link_section = "lockwright_forked")]
static LOOKS: SideTable = SideTable::new();

/// Wake-ups of one thread for nothing after each of which it is looked who else waits, which takes
/// the core's lock and goes through all threads. Later it is after the 128th, 256th and so on.
const MOST_LOOKS: u64 = 64;

/// A wait on a condition variable.
#[derive(Clone, Copy)]
pub struct Wait {
    word: &'static AtomicU64,
    /// The word as the wait began.
    before: u64,
    node: u32,
}

/// A ledger begins.
pub fn begin() {
    WAITED.clear();
    WOKEN.clear();
    LOOKS.clear();
}

/// The condition variable's life is over, or begins.
pub fn forget(c: u64) {
    if let Some(word) = WAITED.word(c) {
        word.store(0, Relaxed);
    }
}

/// As [`forget`], of all in `[from, to)`. The caller has the core's lock.
pub fn forget_in(from: u64, to: u64) {
    WAITED.remove_range(from, to);
}

/// The thread is about to wait on `c`, in the context `node`, with the mutex `lock`, by a call that
/// returns to `site`.
pub fn waits(thread: &mut ThreadState, c: u64, node: u32, lock: Ident, site: u64) -> Option<Wait> {
    if node == 0 {
        return None;
    }
    let word = WAITED.word(c).or_else(|| {
        state::with_core(|_| {
            if WAITED.word(c).is_none() {
                WAITED.insert(c, Ident(u64::from(node)));
            }
            WAITED.word(c)
        })?
    })?;
    // Relaxed, here and below: counts that say nothing about other memory. A waiter or signaller
    // holds the mutex, or has held it.
    let mut before = word.load(Relaxed);
    if before as u32 != node {
        let in_place = |word: u64| {
            let mixed = if word as u32 == 0 { 0 } else { MIXED };
            word & !u64::from(u32::MAX) | mixed | u64::from(node)
        };
        // The function has a value always.
        before = word.fetch_update(Relaxed, Relaxed, |word| Some(in_place(word))).unwrap_or(before);
        before = in_place(before);
    }
    let woken = if before & MIXED == 0 { None } else { WOKEN.word(u64::from(thread.id())) };
    if woken.is_some_and(|woken| woken.load(Relaxed) == likeness(thread, c, node)) {
        tell(thread, c, node, lock, site);
    }
    Some(Wait { word, before, node })
}

/// The wait is over; `result` is what it returned.
pub fn woken(thread: &mut ThreadState, c: u64, wait: Wait, result: i32) {
    let now = wait.word.load(Relaxed);
    if now & MIXED == 0 {
        return;
    }
    let changed = now ^ wait.before;
    let by_signal = result == 0 && changed & ALL_SIGNALS != 0 && changed & ALL_BROADCASTS == 0;
    let likeness = if by_signal { likeness(thread, c, wait.node) } else { 0 };
    let id = u64::from(thread.id());
    match WOKEN.word(id) {
        Some(word) => word.store(likeness, Relaxed),
        None if likeness == 0 => {}
        None => _ = state::with_core(|_| WOKEN.insert(id, Ident(likeness))),
    }
}

/// The condition variable is about to be signalled, by a call that returns to `site`; `mutex` is its
/// waiters'.
pub fn signalled(thread: &mut ThreadState, c: u64, mutex: Ident, site: u64, to_all: bool) {
    let Some(word) = WAITED.word(c) else { return };
    let (at, all) = match to_all {
        true => (BROADCASTS, ALL_BROADCASTS),
        false => (SIGNALS, ALL_SIGNALS),
    };
    let one_more = |word: u64| Some(word & !all | word.wrapping_add(1 << at) & all);
    // The function has a value always.
    let before = word.fetch_update(Relaxed, Relaxed, one_more).unwrap_or(0);
    if before & MIXED != 0 && !to_all && thread.in_signal() == 0 {
        let probed_as = mode::COND_SIGNAL | mode::COND_WAIT;
        misuse::at_call(thread, mutex, probed_as, site, |_| {
            let what = Misuse::new(finding_kind::SIGNAL_PLACE, c, mutex);
            Some(Misuse { mode: mode::COND_SIGNAL, ..what })
        });
    }
}

/// Equal only to that of the same thread which has done nothing since, and is in the same place.
fn likeness(thread: &ThreadState, c: u64, node: u32) -> u64 {
    // A value of 0 stands for none.
    (thread.progress() ^ c.rotate_left(32) ^ u64::from(node)).max(1)
}

/// The thread was woken for nothing, and waits again.
#[cold]
fn tell(thread: &mut ThreadState, c: u64, node: u32, lock: Ident, site: u64) {
    let id = u64::from(thread.id());
    let looks = LOOKS.get(id).map_or(0, |looks| looks.0) + 1;
    if looks > MOST_LOOKS && !looks.is_power_of_two() {
        if let Some(word) = LOOKS.word(id) {
            word.store(looks, Relaxed);
        }
        return;
    }
    misuse::at_call(thread, lock, mode::COND_WAIT | mode::TRY, site, |core| {
        LOOKS.insert(id, Ident(looks));
        let (other_thread, other_stack) = core.cond_waiter_elsewhere(c, node)?;
        let what = Misuse::new(finding_kind::TAKEN_SIGNAL, c, lock);
        Some(Misuse { mode: mode::COND_WAIT, other_thread, other_stack, ..what })
    });
}
