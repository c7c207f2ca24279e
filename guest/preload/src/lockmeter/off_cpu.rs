//! Looks at the end of a long hold how long of it the thread had no processor: by its CPU clock, and by how often the kernel has
//! taken the processor away. Two system calls, at holds that are a hundred times as long.

use lockwright_engines::lockmeter::{CellRef, LongHold, MeterThread, Reading};

use super::meter::{header, is_full, prepare};
use super::{clock, record};
use crate::os::{sys, time};
use crate::stack::checked_read;

/// A hold of so many ticks is over just now, and counted in `cell`.
#[inline(never)]
pub fn look(thread: &mut MeterThread, cell: CellRef, ticks: u64) {
    // A filter of system calls may forbid to ask.
    if checked_read::is_filtered() || is_full() {
        return;
    }
    let Some(header) = header() else { return };
    prepare(thread);
    let Some(switches) = sys::switches_of_thread() else { return };
    let now = Reading { at: clock::now(), cpu_ns: time::own_cpu_ns(), switches };
    let (holds, sum) = cell.holds();
    let typical = sum.saturating_sub(ticks).checked_div(holds.saturating_sub(1)).unwrap_or(0);
    let long = LongHold { since: now.at.saturating_sub(ticks), ticks, typical };
    let Some(period) = thread.read(now, &long) else { return };
    let Some(ran) = clock::ticks_of(header, period.cpu_ns) else { return };
    record::lost_processor(thread, cell, period.lost_in(&long, ran));
}
