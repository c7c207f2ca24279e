//! A wait that is over, as the ledger keeps it.

use lockwright_engines::lockmeter::{CellRef, MeterThread, Pending, Share, Shares, Woken};
use lockwright_ledger::rows::meter::{Metered, blame_kind, histogram_kind};

use super::meter::{header, supply, with_space};
use super::{clock, timeline};
use crate::recorder::measured::measured_short;

/// Records a wait that is over.
pub fn wait(thread: &mut MeterThread, waited: &Pending) {
    let Some(cell) = waited.cell else { return };
    measured_short(|| {
        one(thread, cell, (waited.ticks, waited.spun), waited.shares.all());
        if timeline::is_wanted() {
            timeline::wait(thread, cell, &waited.what, waited.ticks, waited.ended);
        }
    });
}

/// Records a condition wait that is over.
pub fn woken(thread: &mut MeterThread, woken: &Woken) {
    let Woken { cell, ticks, by, .. } = *woken;
    one(thread, cell, (ticks, 0), &[Share { site: by, ticks }]);
    if timeline::is_wanted() {
        timeline::wait(thread, cell, &woken.what, ticks, woken.ended);
    }
}

/// Records the waits that were kept for a lock which has been let go.
pub fn kept(thread: &mut MeterThread, held: &Metered) {
    // What was no wait keeps nothing, and is not worth a reading of the clock.
    if !MeterThread::has_waited(held) {
        return;
    }
    measured_short(|| {
        kept_woken(thread, held);
        thread.record_kept(held, wait);
    });
}

/// Not part of [`kept`]: so only one of the two takes room of the program's stack.
#[inline(never)]
fn kept_woken(thread: &mut MeterThread, held: &Metered) {
    if let Some(before) = thread.kept_woken(held) {
        woken(thread, &before);
    }
}

/// Records a wait of so many ticks, of which the second number were spent spinning.
#[inline(never)]
fn one(thread: &mut MeterThread, cell: CellRef, (ticks, spun): (u64, u64), shares: &[Share]) {
    if let Some(missing) = cell.record_wait(ticks, spun) {
        supply(thread, cell, histogram_kind::WAIT, ticks, missing);
    }
    for share in shares {
        blame(thread, cell, blame_kind::HOLDER, share.site, share.ticks);
    }
    // What else the thread held meanwhile was held for that long only because of this wait.
    let site = cell.site();
    for i in 1..=thread.depth() {
        let held = thread.held_at(i);
        if held.addr != 0
            && let Some(outer) = MeterThread::cell_of(&held)
        {
            blame(thread, outer, blame_kind::NESTED, site, ticks);
        }
    }
    if let Some(header) = header() {
        clock::pair_sometimes(header, clock::now());
    }
}

/// Records a wait of `ticks` that was for no lock, and ended at `ended`.
pub fn plain_wait(thread: &mut MeterThread, cell: CellRef, ticks: u64, ended: u64) {
    wait(thread, &Pending::new(cell, ended, ticks, Shares::NONE));
}

/// A thread of another process, by its kernel id, held the lock that a wait of `cell` was for.
pub fn other_process(thread: &mut MeterThread, cell: CellRef, tid: u32, ticks: u64) {
    blame(thread, cell, blame_kind::OTHER_PROCESS, tid, ticks);
}

/// The call at site `by` ended a wait of `cell` in vain: `ticks` later the thread waited again.
pub fn in_vain(thread: &mut MeterThread, cell: CellRef, by: u32, ticks: u64) {
    blame(thread, cell, blame_kind::IN_VAIN, by, ticks.max(1));
}

/// The thread was ready to run and had no processor for `ticks` of a hold of `cell`.
pub fn lost_processor(thread: &mut MeterThread, cell: CellRef, ticks: u64) {
    blame(thread, cell, blame_kind::LOST, cell.site(), ticks);
}

fn blame(thread: &mut MeterThread, cell: CellRef, kind: u32, other: u32, ticks: u64) {
    if ticks != 0 && !cell.blame(kind, other, ticks) {
        with_space(thread, |meter, core, thread| {
            meter.new_blame(core.writer(), thread, cell, kind, other, ticks);
        });
    }
}
