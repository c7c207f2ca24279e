//! A hold, from the acquisition that did not wait to the release.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use lockwright_engines::lockmeter::{Ending, Hold, MeterThread};
use lockwright_ledger::rows::meter::histogram_kind;

use super::{BOARDS, SAMPLE, Spot, clock, supply, wait};
use crate::sites;

/// When a hold that begins now began, 0 if it is not one to be timed.
#[inline(always)]
pub fn since(thread: &mut MeterThread) -> u64 {
    if thread.is_timed(SAMPLE.load(Relaxed)) { clock::now() } else { 0 }
}

/// The lock at `addr` is had, without a wait.
#[inline(always)]
pub fn begin(thread: &mut MeterThread, addr: u64, spot: Spot) {
    let since = since(thread);
    thread.acquired(addr, spot.cell, since);
    if let Some(trial) = spot.trial {
        thread.put_on_trial(trial);
    }
}

/// As [`begin`], for a lock that several can hold.
#[inline(always)]
pub fn begin_shared(thread: &mut MeterThread, addr: u64, spot: Spot) {
    let since = since(thread);
    thread.acquired_shared(addr, spot.cell, since);
    if let Some(trial) = spot.trial {
        thread.put_on_trial(trial);
    }
}

/// Lets the innermost held lock go by `unlock`, and counts its hold then.
#[inline(always)]
pub fn end_innermost(
    thread: &mut MeterThread,
    addr: u64,
    hold: Ending,
    unlock: impl FnOnce() -> c_int,
) -> c_int {
    let now = ending(addr, hold, false);
    let result = unlock();
    // The lock may be gone by now: nothing of it is looked at.
    if result == 0 {
        thread.pop();
        record(thread, hold, now);
    }
    result
}

/// As [`end_innermost`], for a lock that several can hold.
#[inline(always)]
pub fn end_innermost_shared(
    thread: &mut MeterThread,
    addr: u64,
    hold: Ending,
    unlock: impl FnOnce() -> c_int,
) -> c_int {
    let now = ending(addr, hold, true);
    let result = unlock();
    if result == 0 {
        thread.pop();
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
    let hold = Ending::of(&held);
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

/// The hold is about to end: those who wait for it are told. Returns the time, 0 if nobody needs it.
#[inline(always)]
fn ending(addr: u64, hold: Ending, shared: bool) -> u64 {
    let now = if hold.since == 0 { 0 } else { clock::now() };
    if BOARDS.is_waited_for(addr) {
        charge(addr, hold, now, shared);
    }
    now
}

#[cold]
#[inline(never)]
fn charge(addr: u64, hold: Ending, now: u64, shared: bool) {
    let Some(cell) = hold.cell() else { return };
    let now = if now == 0 { clock::now() } else { now };
    BOARDS.charge(&Hold { addr, site: cell.site(), since: hold.since, now, shared });
}

/// Counts a hold that is over.
#[inline(always)]
fn record(thread: &mut MeterThread, hold: Ending, now: u64) {
    if hold.since == 0 {
        return;
    }
    let Some(cell) = hold.cell() else { return };
    // The counter of another processor may lag by some ticks.
    let ticks = now.saturating_sub(hold.since);
    if let Some(missing) = cell.record_hold(ticks) {
        supply(thread, cell, histogram_kind::HOLD, ticks, missing);
    }
}
