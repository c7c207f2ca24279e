//! A hold, from the acquisition that did not wait to the release.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use lockwright_engines::lockmeter::{CellRef, Ending, Hold, MeterThread, Rest};
use lockwright_ledger::rows::meter::histogram_kind;

use super::{BOARDS, SAMPLE, Spot, clock, supply, tls, wait};
use crate::sites;

/// When a hold that begins now began, 0 if it is not one to be timed.
#[inline(always)]
fn since(thread: &mut MeterThread) -> u64 {
    if thread.is_timed(SAMPLE.load(Relaxed)) { clock::now() } else { 0 }
}

/// The lock at `addr` is had; `shared`: several can have it. Returns since when, 0 if the hold is not timed.
#[inline(always)]
pub fn begin(thread: &mut MeterThread, addr: u64, spot: Spot, shared: bool) -> u64 {
    let since = since(thread);
    match shared {
        true => thread.acquired_shared(addr, spot.cell, since),
        false => thread.acquired(addr, spot.cell, since),
    }
    if let Some(trial) = spot.trial {
        thread.put_on_trial(trial);
    }
    since
}

/// Lets a lock that only one can hold go by `unlock`.
#[inline(always)]
pub fn release(addr: u64, unlock: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: as `super::thread`; who has no meter holds nothing.
    let thread = unsafe { &mut *tls::raw() };
    match thread.innermost(addr) {
        Some(hold) => end_innermost(thread, addr, hold, unlock),
        None => end(thread, addr, unlock),
    }
}

/// Lets the innermost held lock, of which [`MeterThread::innermost`] knows, go by `unlock`, and counts its
/// hold then.
#[inline(always)]
pub fn end_innermost(
    thread: &mut MeterThread,
    addr: u64,
    hold: Ending,
    unlock: impl FnOnce() -> c_int,
) -> c_int {
    // What has more to do than this goes the other way from here, so that this way keeps nothing for it.
    if BOARDS.is_waited_for(addr) || (hold.since != 0 && !clock::is_tsc()) {
        return end(thread, addr, unlock);
    }
    let now = if hold.since == 0 { 0 } else { clock::tsc() };
    end_innermost_at(thread, now, unlock)
}

/// As [`end_innermost`], when those who wait have been told: at the time `now`, 0 if it is not needed.
#[inline(always)]
pub fn end_innermost_at(
    thread: &mut MeterThread,
    now: u64,
    unlock: impl FnOnce() -> c_int,
) -> c_int {
    let result = unlock();
    // The lock may be gone by now: nothing of it is looked at.
    if result == 0 {
        // SAFETY: it was held until now; handlers of signals leave the entries as they find them.
        let hold = unsafe { thread.pop() };
        record(thread, hold, now);
    }
    result
}

/// Lets a lock go by `unlock` that is not the innermost, or that was waited for.
#[cold]
#[inline(never)]
pub fn end(thread: &mut MeterThread, addr: u64, unlock: impl FnOnce() -> c_int) -> c_int {
    let Some(held) = thread.entry_of(addr) else { return unlock() };
    if held.recursion != 0 {
        let result = unlock();
        if result == 0 {
            thread.unrecurse(addr);
        }
        return result;
    }
    let Some(hold) = Ending::of(&held) else { return unlock() };
    let now = ending(addr, hold, MeterThread::is_shared(&held));
    let result = unlock();
    if result == 0 {
        thread.remove(addr);
        record(thread, hold, now);
        if let Some(trial) = MeterThread::trial_of(&held) {
            sites::judge(trial);
        }
        if let Some(waited) = thread.kept(&held) {
            wait::record(thread, &waited);
        }
    }
    result
}

/// When a hold ends that ends now, 0 if it is not timed.
#[inline(always)]
fn now_for(hold: Ending) -> u64 {
    if hold.since == 0 { 0 } else { clock::now() }
}

/// The hold is about to end: those who wait for it are told. Returns the time, 0 if nobody needs it.
#[inline(always)]
pub fn ending(addr: u64, hold: Ending, shared: bool) -> u64 {
    let now = now_for(hold);
    if BOARDS.is_waited_for(addr) {
        charge(addr, hold, now, shared);
    }
    now
}

#[cold]
#[inline(never)]
fn charge(addr: u64, hold: Ending, now: u64, shared: bool) {
    let now = if now == 0 { clock::now() } else { now };
    BOARDS.charge(&Hold { addr, site: hold.cell.site(), since: hold.since, now, shared });
}

/// Counts a hold that is over.
#[inline(always)]
fn record(thread: &mut MeterThread, hold: Ending, now: u64) {
    if hold.since == 0 {
        return;
    }
    // The counter of another processor may lag by some ticks.
    let ticks = now.saturating_sub(hold.since);
    if let Err(rest) = hold.cell.count_hold(ticks) {
        make_up(thread, hold.cell, ticks, rest);
    }
}

/// Counts what of a hold has not been counted.
#[cold]
#[inline(never)]
fn make_up(thread: &mut MeterThread, cell: CellRef, ticks: u64, rest: Rest) {
    if let Some(missing) = cell.make_up(ticks, rest) {
        supply(thread, cell, histogram_kind::HOLD, ticks, missing);
    }
}
