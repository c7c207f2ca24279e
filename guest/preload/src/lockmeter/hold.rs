//! A hold, from the acquisition that did not wait to the release.
//!
//! What the meter does while a lock is held makes the program's hold longer. So the entry of a lock
//! is made before it is tried for, and taken off again if it was not had; and the clock is read
//! before the try, and once more when the lock has been let go. Read between the two it would say
//! little else, as the processor does not wait for the locked instruction before it. A hold that is
//! so timed has the C library's two calls in it.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use lockwright_engines::Trial;
use lockwright_engines::lockmeter::{CellRef, Ending, Hold, LONG, MeterThread, Pending, Rest};
use lockwright_ledger::rows::meter::histogram_kind;

use super::meter::{BOARDS, SAMPLE, supply};
use super::target::Spot;
use super::{clock, off_cpu, record, timeline, tls};
use crate::callsite;
use crate::recorder::measured::measured_short;

/// When a hold that begins now began, 0 if it is not one to be timed. `EVERY` of the functions here
/// is chosen once for the process: every hold is timed, and by the time-stamp counter
/// ([`times_every`]).
#[inline(always)]
pub fn since_now<const EVERY: bool>(thread: &mut MeterThread) -> u64 {
    match EVERY {
        true => clock::tsc(),
        false if thread.skips() => 0,
        false => sampled(thread),
    }
}

/// What `EVERY` is to be.
pub fn times_every() -> bool {
    SAMPLE.load(Relaxed) == 1 && clock::is_tsc()
}

#[cold]
#[inline(never)]
fn sampled(thread: &mut MeterThread) -> u64 {
    if thread.next_sample(SAMPLE.load(Relaxed)) { clock::now() } else { 0 }
}

/// The thread has the lock at `addr`, or is about to try for it; `shared`: several can have it.
/// Returns since when, 0 if the hold is not timed.
#[inline(always)]
pub fn begin(thread: &mut MeterThread, addr: u64, spot: Spot, shared: bool) -> u64 {
    let timed = thread.is_timed(SAMPLE.load(Relaxed));
    let since = if timed { clock::now() } else { 0 };
    match shared {
        true => thread.acquired_shared(addr, spot.cell, since),
        false => thread.acquired(addr, spot.cell, since),
    }
    if let Some(trial) = spot.trial {
        thread.put_on_trial(trial);
    }
    since
}

/// The thread has the lock at `addr`, whose acquisition was reserved, after `waited`, if that can
/// be kept.
pub fn begin_reserved(thread: &mut MeterThread, addr: u64, waited: Option<&Pending>) {
    let timed = thread.is_timed(SAMPLE.load(Relaxed));
    let since = if timed { clock::now() } else { 0 };
    thread.acquired_reserved(addr, since, waited);
}

/// The lock that [`begin`] was last called for was not had: if that is a trylock's, it was
/// rejected.
#[inline(always)]
pub fn cancel(thread: &mut MeterThread, rejects: bool) {
    // SAFETY: the entry that `begin` made; handlers of signals leave the entries as they find them.
    let Ending { cell, .. } = unsafe { thread.pop() };
    if rejects { cell.reject() } else { cell.take_back() }
}

/// Lets a lock that only one can hold go by `unlock`, the C library's. `IN_TIME`: a timeline has the hold if it is long, so the
/// address is kept over the release.
#[inline(always)]
pub fn release<const EVERY: bool, const IN_TIME: bool>(
    addr: u64,
    unlock: impl FnOnce() -> c_int,
) -> c_int {
    // The slow paths leave from here, so that the fast path keeps nothing for them.
    let Some((thread, hold)) = tls::own_with(|meter| meter.innermost_uncounted(addr)) else {
        return release_counted(addr, unlock);
    };
    if BOARDS.is_waited_for(addr) {
        return end_waited(thread, addr, unlock);
    }
    if !EVERY && hold.since != 0 {
        return end_timed(thread, addr, true, unlock);
    }
    let result = unlock();
    // The lock may be gone by now: nothing of it is looked at.
    if result == 0 {
        let now = if EVERY { clock::tsc() } else { 0 };
        // SAFETY: it was held until now; handlers of signals leave the entries as they find them.
        let hold = unsafe { thread.pop() };
        hold.cell.begin();
        if EVERY {
            record(thread, if IN_TIME { addr } else { NO_TIMELINE }, hold, now);
        }
    }
    result
}

/// The slow path of [`release`], of a lock that somebody may wait for. Not rare: as long as one
/// sleeps, each of the others' holds ends here.
#[inline(never)]
fn end_waited(thread: &mut MeterThread, addr: u64, unlock: impl FnOnce() -> c_int) -> c_int {
    // Asked once more, rather than handed over, for the sake of those that nobody waits for.
    let Some(hold) = thread.innermost_uncounted(addr) else { return unlock() };
    let now = clock::now();
    charge(thread, addr, hold, now, false);
    let result = unlock();
    if result == 0 {
        // SAFETY: the innermost entry was there before the unlock, and handlers of signals leave
        // entries as they find them.
        let hold = unsafe { thread.pop() };
        hold.cell.begin();
        let fought = Fought { addr, since: hold.since, flags: timeline::flags(true, false) };
        record_fought_for(thread, fought, hold, now);
    }
    result
}

/// The slow path of [`release`], of a lock whose acquisition has been counted.
#[inline(never)]
pub fn release_counted(addr: u64, unlock: impl FnOnce() -> c_int) -> c_int {
    match tls::own_with(|meter| meter.innermost(addr)) {
        Some((thread, _)) if !BOARDS.is_waited_for(addr) => end_timed(thread, addr, false, unlock),
        _ => release_slow(addr, unlock),
    }
}

/// The slow path of a release: the lock is not the innermost, or was waited for, or is not known.
#[cold]
#[inline(never)]
fn release_slow(addr: u64, unlock: impl FnOnce() -> c_int) -> c_int {
    match tls::own_with(|meter| meter.entry_of(addr)) {
        Some((thread, _)) => end_and_judge(thread, addr, unlock, callsite::judge),
        None => unlock(),
    }
}

/// Lets the innermost held lock go, which nobody waits for, and whose hold may be timed.
#[inline(never)]
fn end_timed(
    thread: &mut MeterThread,
    addr: u64,
    is_uncounted: bool,
    unlock: impl FnOnce() -> c_int,
) -> c_int {
    let result = unlock();
    if result == 0 {
        let now = clock::now();
        // SAFETY: the innermost entry was there before the unlock, and handlers of signals leave
        // entries as they find them.
        let hold = unsafe { thread.pop() };
        if is_uncounted {
            hold.cell.begin();
        }
        record(thread, addr, hold, now);
    }
    result
}

/// As [`release`], where `unlock` does more than let the lock go: the hold's end is before it.
#[inline(always)]
pub fn release_around(addr: u64, unlock: impl FnOnce() -> c_int) -> c_int {
    match tls::own_with(|meter| meter.innermost(addr)) {
        Some((thread, hold)) => end_innermost(thread, addr, hold, unlock),
        None => release_slow(addr, unlock),
    }
}

/// Lets the innermost held lock, of which [`MeterThread::innermost`] knows, go by `unlock`, and
/// counts its hold then.
#[inline(always)]
pub fn end_innermost(
    thread: &mut MeterThread,
    addr: u64,
    hold: Ending,
    unlock: impl FnOnce() -> c_int,
) -> c_int {
    // The slow paths leave from here, so that the fast path keeps nothing for them.
    if BOARDS.is_waited_for(addr) || (hold.since != 0 && !clock::is_enough()) {
        return end_slow(thread, addr, unlock);
    }
    let now = if hold.since == 0 { 0 } else { clock::tsc() };
    end_innermost_at(thread, NO_TIMELINE, now, unlock)
}

/// As [`end_innermost`], when those who wait have been told: at the time `now`, 0 if it is not
/// needed. `addr` is as for [`record`].
#[inline(always)]
pub fn end_innermost_at(
    thread: &mut MeterThread,
    addr: u64,
    now: u64,
    unlock: impl FnOnce() -> c_int,
) -> c_int {
    let result = unlock();
    // The lock may be gone by now: nothing of it is looked at.
    if result == 0 {
        // SAFETY: it was held until now; handlers of signals leave the entries as they find them.
        let hold = unsafe { thread.pop() };
        record(thread, addr, hold, now);
    }
    result
}

/// The slow path of [`end_innermost`]: somebody may wait for the lock, or more is to be known of the hold.
#[cold]
#[inline(never)]
fn end_slow(thread: &mut MeterThread, addr: u64, unlock: impl FnOnce() -> c_int) -> c_int {
    match BOARDS.is_waited_for(addr) {
        true => end(thread, addr, unlock),
        false => end_timed(thread, addr, false, unlock),
    }
}

/// Lets a lock go by `unlock` that is not the innermost, or that was waited for.
#[cold]
#[inline(never)]
pub fn end(thread: &mut MeterThread, addr: u64, unlock: impl FnOnce() -> c_int) -> c_int {
    end_and_judge(thread, addr, unlock, callsite::judge)
}

/// A condition wait is about to give up a lock, and to take it again.
#[cold]
pub fn give_up(thread: &mut MeterThread, addr: u64) {
    end_and_judge(thread, addr, || 0, callsite::judge_given_up);
}

/// Lets a lock go by `unlock`, and has `judge` look at its call site if that is a candidate.
#[inline]
fn end_and_judge(
    thread: &mut MeterThread,
    addr: u64,
    unlock: impl FnOnce() -> c_int,
    judge: fn(Trial),
) -> c_int {
    let Some(held) = thread.entry_of(addr) else { return unlock() };
    if MeterThread::recursion_of(&held) != 0 {
        let result = unlock();
        if result == 0 {
            thread.unrecurse(addr);
        }
        return result;
    }
    let Some(hold) = Ending::of(&held) else { return unlock() };
    // The charge begins when the thread got the lock, even if this hold is not timed.
    let had = Ending { since: thread.had_since(&held), ..hold };
    let is_shared = MeterThread::is_shared(&held);
    let is_waited_for = BOARDS.is_waited_for(addr);
    let (now, is_charged) = ending(thread, addr, had, is_shared);
    let result = unlock();
    if result == 0 {
        thread.remove(addr);
        if held.is_uncounted() {
            hold.cell.begin();
        }
        // A hold after a wait is one of a lock that is fought for, too. `ending` saw to those that are shared.
        if !is_shared && (is_waited_for || MeterThread::has_waited(&held)) {
            let flags = timeline::flags(is_waited_for, false);
            record_fought_for(thread, Fought { addr, since: had.since, flags }, hold, now);
        } else {
            let is_there = is_charged && is_shared;
            record(thread, if is_there { NO_TIMELINE } else { addr }, hold, now);
        }
        if let Some(trial) = MeterThread::trial_of(&held) {
            judge(trial);
        }
        record::kept(thread, &held);
    }
    result
}

/// The thread ends: so do its holds. Its locks may be released later or never, and we cannot read
/// them: their memory may be gone.
#[cold]
pub fn end_all(thread: &mut MeterThread) {
    let innermost = |thread: &MeterThread| thread.held().rfind(|held| held.addr != 0);
    while let Some(held) = innermost(thread) {
        if let Some(hold) = Ending::of(&held) {
            let is_shared = MeterThread::is_shared(&held);
            let (now, is_charged) = ending(thread, held.addr, hold, is_shared);
            if held.is_uncounted() {
                hold.cell.begin();
            }
            let is_there = is_charged && is_shared;
            record(thread, if is_there { NO_TIMELINE } else { held.addr }, hold, now);
        }
        thread.remove(held.addr);
        record::kept(thread, &held);
    }
}

/// When a hold ends that ends now, 0 if it is not timed.
#[inline(always)]
fn now_for(hold: Ending) -> u64 {
    if hold.since == 0 { 0 } else { clock::now() }
}

/// The hold is about to end: adds it to the board for the waiters, which a shared one's event in the timeline goes with. Returns the
/// time, 0 if nothing needs it, and whether there were waiters.
#[inline(always)]
pub fn ending(thread: &mut MeterThread, addr: u64, hold: Ending, shared: bool) -> (u64, bool) {
    let now = now_for(hold);
    let is_waited_for = BOARDS.is_waited_for(addr);
    if is_waited_for {
        charge(thread, addr, hold, now, shared);
    }
    (now, is_waited_for)
}

#[cold]
#[inline(never)]
fn charge(thread: &mut MeterThread, addr: u64, hold: Ending, now: u64, shared: bool) {
    let now = if now == 0 { clock::now() } else { now };
    let tid = thread.tid();
    let Ending { cell, since } = hold;
    let hold = Hold { addr, site: cell.site(), since, now, shared, tid };
    measured_short(|| BOARDS.charge(&hold));
    if shared && timeline::is_wanted() {
        // Here, not after the release, whose fast path is not to ask once more.
        timeline::hold(thread, addr, cell, since, now, timeline::flags(true, true));
    }
}

/// Stands for the address of a lock whose hold the timeline does not want, or has.
pub const NO_TIMELINE: u64 = 0;

/// Counts a hold that is over, of the lock at `addr`. A fast path that keeps nothing over the release passes [`NO_TIMELINE`]: it is
/// not taken with one.
#[inline(always)]
fn record(thread: &mut MeterThread, addr: u64, hold: Ending, now: u64) {
    if hold.since == 0 {
        return;
    }
    // The counter of another processor may lag by some ticks.
    let ticks = now.saturating_sub(hold.since);
    if let Err(rest) = hold.cell.count_hold(ticks) {
        make_up(thread, hold.cell, ticks, rest, addr);
    }
}

/// A hold of a lock that others wait for, or that was waited for, as the timeline has it.
struct Fought {
    addr: u64,
    since: u64,
    flags: u16,
}

/// Counts a hold that is over, of a lock that is fought for.
fn record_fought_for(thread: &mut MeterThread, fought: Fought, hold: Ending, now: u64) {
    if hold.since != 0 {
        let ticks = now.saturating_sub(hold.since);
        if let Err(rest) = hold.cell.count_hold(ticks) {
            count_rest(thread, hold.cell, ticks, rest);
        }
    }
    if timeline::is_wanted() {
        let Fought { addr, since, flags } = fought;
        let ended = if now == 0 { clock::now() } else { now };
        timeline::hold(thread, addr, hold.cell, since, ended, flags);
    }
}

/// Counts what of a hold has not been counted.
#[cold]
#[inline(never)]
fn make_up(thread: &mut MeterThread, cell: CellRef, ticks: u64, rest: Rest, addr: u64) {
    let is_kept = addr != NO_TIMELINE && ticks >= LONG && timeline::is_wanted();
    // A moment ago, and read again rather than handed over.
    let ended = is_kept.then(clock::now);
    count_rest(thread, cell, ticks, rest);
    if let Some(ended) = ended {
        timeline::hold(thread, addr, cell, ended.saturating_sub(ticks), ended, 0);
    }
}

#[inline(never)]
fn count_rest(thread: &mut MeterThread, cell: CellRef, ticks: u64, rest: Rest) {
    if ticks >= LONG {
        measured_short(|| off_cpu::look(thread, cell, ticks));
    }
    if let Some(missing) = cell.make_up(ticks, rest) {
        supply(thread, cell, histogram_kind::HOLD, ticks, missing);
    }
}
