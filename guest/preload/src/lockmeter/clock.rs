//! The clock of lockmeter's times: the time-stamp counter where it runs evenly, else
//! CLOCK_MONOTONIC.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

use lockwright_ledger::Header;
use lockwright_ledger::layout::clock;

pub use crate::arch::counter as tsc;
use crate::arch::is_counter_even;
use crate::os::time;

/// The time-stamp counter is used.
static TSC: AtomicBool = AtomicBool::new(false);

/// The end of a hold takes no more than a reading of the counter: it is the clock, and no timeline wants to know which lock it was.
static ENOUGH: AtomicBool = AtomicBool::new(false);

/// The time in ticks at which the second of the header's pairs has to be stored again.
static DUE: AtomicU64 = AtomicU64::new(0);

/// The most ticks between two readings for the header: some milliseconds. Before that, a process'
/// age: what it lives to see is known at half its age or better, even if it is killed young.
const PAIR_EVERY: u64 = 1 << 24;

/// Somebody stores the second of the header's pairs.
static PAIRING: AtomicBool = AtomicBool::new(false);

/// Readings of which the header gets the best: enough that not each of them is interrupted.
const READINGS: u32 = 4;

/// Ticks now.
#[inline(always)]
pub fn now() -> u64 {
    if is_tsc() { tsc() } else { time::now_ns() }
}

/// The clock is the time-stamp counter.
#[inline(always)]
pub fn is_tsc() -> bool {
    TSC.load(Relaxed)
}

/// See [`ENOUGH`].
#[inline(always)]
pub fn is_enough() -> bool {
    ENOUGH.load(Relaxed)
}

/// Chooses the clock: at start, before any thread.
pub fn choose(monotonic_only: bool, has_timeline: bool) {
    let is_tsc = !monotonic_only && is_counter_even();
    TSC.store(is_tsc, Relaxed);
    ENOUGH.store(is_tsc && !has_timeline, Relaxed);
}

/// Ticks in `ns` nanoseconds; of the time-stamp counter by the header's readings, as far as they are apart.
pub fn ticks_of(header: &Header, ns: u64) -> Option<u64> {
    if !is_tsc() {
        return Some(ns);
    }
    let [first, first_ns, last, last_ns] =
        [0, 1, 2, 3].map(|i| header.clock_pairs[i].load(Relaxed));
    let (ticks, time) = (last.checked_sub(first)?, last_ns.checked_sub(first_ns)?);
    u64::try_from(u128::from(ns) * u128::from(ticks) / u128::from(time).max(1)).ok()
}

/// Stores the clock and its first reading in the header.
pub fn start(header: &Header) {
    header.clock.store(if is_tsc() { clock::TSC } else { clock::MONOTONIC }, Relaxed);
    // A fork may have come while another thread of the parent was storing.
    PAIRING.store(false, Relaxed);
    store(header, 0);
}

/// Stores a later reading: the farther the two are apart, the better is the clock's rate known.
pub fn pair(header: &Header) {
    // Two at once would leave one's ticks with the other's nanoseconds. Acquire pairs with the
    // Release below.
    if PAIRING.swap(true, Acquire) {
        return;
    }
    store(header, 2);
    let [first, last] = [0, 2].map(|at| header.clock_pairs[at].load(Relaxed));
    DUE.store(last + last.saturating_sub(first).min(PAIR_EVERY), Relaxed);
    PAIRING.store(false, Release);
}

/// As [`pair`], if the last reading is some time ago: `now` is the clock's.
pub fn pair_sometimes(header: &Header, now: u64) {
    if now > DUE.load(Relaxed) {
        pair(header);
    }
}

fn store(header: &Header, at: usize) {
    let (ticks, ns) = tightest(|| {
        let before = now();
        let ns = time::now_ns();
        (before, ns, now())
    });
    header.clock_pairs[at].store(ticks, Relaxed);
    header.clock_pairs[at + 1].store(ns, Relaxed);
}

/// Reads both clocks, as ticks, nanoseconds and ticks again, a few times, and says what the closest
/// of the ticks enclose: their middle is at most half a call off, unless the processor was taken
/// away between them.
fn tightest(mut read: impl FnMut() -> (u64, u64, u64)) -> (u64, u64) {
    let (mut narrowest, mut best) = (u64::MAX, (0, 0));
    for _ in 0..READINGS {
        let (before, ns, after) = read();
        let width = after.saturating_sub(before);
        if width < narrowest {
            (narrowest, best) = (width, (before + width / 2, ns));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::tightest;

    #[test]
    fn of_readings_that_were_interrupted_and_one_that_was_not_that_one_counts() {
        let mut readings =
            [(10, 1000, 5010), (6000, 2000, 6040), (7000, 9000, 9000), (9900, 4000, 9990)].iter();
        assert_eq!(tightest(|| *readings.next().unwrap()), (6020, 2000));
    }
}
