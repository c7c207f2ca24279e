//! Whether the holder of a lock runs while others wait for it: by its thread's CPU clock, which any thread of the process may read.
//!
//! That takes two system calls. So only the first of several waiters looks, and a thread does so once in some
//! microseconds: that wait stands for those before it.

use lockwright_engines::lockmeter::{Boards, CellRef, MeterThread, Place, Stood};

use super::attached::is_known;
use super::clock;
use super::meter::{BOARDS, header};
use crate::os::time;
use crate::stack::checked_read;

/// A thread looks once in so many ticks, 10 to 40 us.
const EVERY: u64 = 40_000;

/// A holder that is looked at.
#[derive(Clone, Copy)]
pub struct Watched {
    site: u32,
    cpu_ns: u64,
    each: u64,
}

/// A wait begins at the time `now`, at `place`, for the thread `tid`, which has taken the lock at `site`.
#[inline(never)]
pub fn begin(
    thread: &mut MeterThread,
    place: &Place,
    now: u64,
    tid: u32,
    site: u32,
) -> Option<Watched> {
    // A filter of system calls may forbid to ask.
    if !Boards::is_alone(place) || !is_known(tid) || checked_read::is_filtered() {
        return None;
    }
    let each = thread.looks(now, EVERY)?;
    // Before the clock is read: a holder that leaves meanwhile has had less than that.
    BOARDS.watch(place);
    Some(Watched { site, cpu_ns: cpu_ns(tid)?, each })
}

/// The wait of `cell`, which began at the time `begun`, is over; its place is about to be left.
#[inline(never)]
pub fn end(thread: &mut MeterThread, place: &Place, cell: CellRef, begun: u64, watched: Watched) {
    let Watched { site, cpu_ns: before, each } = watched;
    let Some((cpu_ns, left_at)) = BOARDS.watched(place) else { return };
    let ran_ns = cpu_ns.saturating_sub(before);
    let ran = header().and_then(|header| clock::ticks_of(header, ran_ns));
    let ticks = left_at.saturating_sub(begun).saturating_sub(ran.unwrap_or(u64::MAX));
    thread.keep_stood(Stood { cell, site, ticks: ticks.saturating_mul(each) });
}

/// What a thread of this process has had of a processor; `None` if it is gone.
fn cpu_ns(tid: u32) -> Option<u64> {
    // CPUCLOCK_SCHED of one thread.
    match time::of_clock((!tid << 3 | 6) as libc::clockid_t) {
        0 => None,
        ns => Some(ns),
    }
}
