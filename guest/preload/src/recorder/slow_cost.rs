//! The cost of the slow path for the program: CPU time of its threads, which a preempted or sleeping thread does not
//! use.
//!
//! The clock is a system call, so only the first entries are all timed. Later on one in [`SAMPLE`] is, and stands for
//! as many. Which one is decided by a hash of the entry's number: entries of different cost alternate. An entry
//! within another is part of it.
//!
//! Short parts of a thread, of some ten nanoseconds, are timed by CLOCK_MONOTONIC: the CPU clock's reading takes ten times as
//! long as they do, and they seemed half as long as they are. One in which the thread may have been preempted is not counted.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU64};

use lockwright_ledger::Header;

use crate::arch::stack_pointer;
use crate::os::{sys, time, tls};

/// So many entries are all timed.
const ALL: u64 = 64;

/// One of so many later ones is timed.
const SAMPLE: u64 = 16;

/// An entry that takes so many times as long as usual is long.
const LONG: u64 = 32;

/// No long entry changes the sum by more than one part in so many. One that would, where a large table grew say, stands
/// for itself alone: all others in its place would not be like it. Other long entries stand for others like them. Without
/// those the sum is 10 % too low for CPython, of which one entry in 600 reads a long stack.
const LARGEST_PART: u64 = 16;

/// A reading of the clock that takes so many times as long as in the loop of [`calibrate`] was interrupted.
const LONGEST_READING: u64 = 3;

/// A reading of CLOCK_MONOTONIC that takes longer was interrupted, ns.
const LONGEST_SHORT_READING_NS: u64 = 500;

/// A short part that takes longer was interrupted, ns.
const LONGEST_SHORT_NS: u64 = 100_000;

/// Entries are timed no more.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// What one reading of the clock takes, ns.
static READING_NS: AtomicU64 = AtomicU64::new(0);

/// What it takes to open signals after an entry was timed, ns.
static OPENING_NS: AtomicU64 = AtomicU64::new(0);

/// Times no more entries: a filter of system calls may kill for one that the program does not make.
pub fn stop_timing() {
    // Relaxed: the thread that installs the filter stores before it does, and has the filter alone.
    IS_OVER.store(true, Relaxed);
}

/// Measures what the measurement itself takes. At start; a forked child knows it from its parent.
pub fn calibrate() {
    const ROUNDS: u64 = 4;
    const READINGS: usize = 9;
    // Relaxed: as below.
    if READING_NS.load(Relaxed) != 0 {
        return;
    }
    let begun = cpu_ns();
    (0..ROUNDS).for_each(|_| sys::restore_signals(sys::block_signals()));
    let switched = cpu_ns();
    let mut last = switched;
    let mut readings = [0; READINGS];
    for reading in &mut readings {
        let now = cpu_ns();
        *reading = now - core::mem::replace(&mut last, now);
    }
    // The middle one: an interrupt makes one longer.
    readings.sort_unstable();
    let reading_ns = readings[READINGS / 2];
    // Relaxed: plain numbers, and no thread of the program runs yet.
    READING_NS.store(reading_ns, Relaxed);
    let opening_ns = (switched - begun).saturating_sub(reading_ns) / (2 * ROUNDS);
    OPENING_NS.store(opening_ns, Relaxed);
}

/// An entry that is timed.
pub struct Timed {
    stands_for: u64,
    begun_ns: u64,
    /// What one reading of the clock takes here and now.
    reading_ns: u64,
    is_short: bool,
}

/// Counts an entry and begins to time it, if its turn has come and it is not part of another.
pub fn begin(header: &Header) -> Option<Timed> {
    (!is_inside()).then(|| begin_outermost(header)).flatten()
}

pub(super) fn begin_outermost(header: &Header) -> Option<Timed> {
    // Relaxed: counts, which publish nothing else.
    let number = header.slow_entries.fetch_add(1, Relaxed);
    let stands_for = match number {
        ..ALL => 1,
        _ => sampled(number, SAMPLE),
    };
    Timed::begin(stands_for)
}

impl Timed {
    #[cold]
    fn begin(stands_for: u64) -> Option<Self> {
        // Relaxed: as in `stop_timing`.
        (stands_for != 0 && !IS_OVER.load(Relaxed)).then(|| {
            // In a program a reading takes longer than in the loop of `calibrate`, and by more than a short entry does.
            // So a second reading right after the first shows how long.
            let first_ns = cpu_ns();
            let begun_ns = cpu_ns();
            Self {
                stands_for,
                begun_ns,
                reading_ns: plausible(begun_ns - first_ns),
                is_short: false,
            }
        })
    }

    /// Begins to time a short part.
    #[cold]
    pub(super) fn begin_short(stands_for: u64) -> Option<Self> {
        // Relaxed: as in `stop_timing`.
        (!IS_OVER.load(Relaxed)).then(|| {
            let first_ns = time::now_ns();
            let begun_ns = time::now_ns();
            let reading_ns = begun_ns.saturating_sub(first_ns).min(LONGEST_SHORT_READING_NS);
            Self { stands_for, begun_ns, reading_ns, is_short: true }
        })
    }

    /// The short part ends, and is counted.
    #[cold]
    pub(super) fn end_short(self, header: &Header) {
        let stands_for = self.stands_for;
        if self.end(header, 0) {
            // Relaxed: as in `begin`.
            header.slow_entries.fetch_add(stands_for, Relaxed);
        }
    }

    /// The entry ends; only signals are still to be opened. A handler's time is not ours.
    pub fn end_closed(self, header: &Header) {
        self.end(header, OPENING_NS.load(Relaxed));
    }

    /// The entry ends. Whether it counts.
    pub(super) fn end(self, header: &Header, rest_ns: u64) -> bool {
        // Relaxed: as in `stop_timing`.
        if IS_OVER.load(Relaxed) {
            return false;
        }
        // One of the three readings lies within the measured time.
        let Self { begun_ns, reading_ns, is_short, .. } = self;
        let now_ns = if is_short { time::now_ns() } else { cpu_ns() };
        let ns = now_ns.saturating_sub(begun_ns).saturating_sub(reading_ns) + rest_ns;
        if is_short && ns > LONGEST_SHORT_NS {
            return false;
        }
        // Relaxed: as in `begin`.
        let (timed, sum_ns) = (header.slow_timed.load(Relaxed), header.slow_cpu_ns.load(Relaxed));
        let stands_for = bounded(self.stands_for, ns, timed, sum_ns);
        let all_ns = ns.saturating_mul(stands_for).saturating_add(3 * reading_ns);
        // Relaxed: as in `begin`.
        header.slow_timed.fetch_add(stands_for, Relaxed);
        header.slow_cpu_ns.fetch_add(all_ns, Relaxed);
        true
    }
}

/// What a reading took, if nothing interrupted it.
fn plausible(reading_ns: u64) -> u64 {
    // Relaxed: as in `calibrate`.
    reading_ns.min(LONGEST_READING * READING_NS.load(Relaxed))
}

/// Runs `part` as part of an entry.
#[inline(always)]
pub fn inside<R>(part: impl FnOnce() -> R) -> R {
    enter();
    let result = part();
    leave();
    result
}

/// What the function that this is inlined into does from now on is part of an entry.
#[inline(always)]
pub(super) fn enter() {
    // Its frame and those below it are within. Its caller's frame ends above the return address, so at this or above.
    tls::set_slow_frame(stack_pointer() + 8);
}

/// The entry ends.
#[inline(always)]
pub(super) fn leave() {
    tls::set_slow_frame(0);
}

/// The thread is within an entry. One that was left by a long jump lies below this frame.
#[inline(always)]
pub(super) fn is_inside() -> bool {
    stack_pointer() < tls::slow_frame()
}

/// How many entries the one of this number stands for, of which one in `of` is timed: 0 if this is not.
pub(super) const fn sampled(number: u64, of: u64) -> u64 {
    // Fibonacci hashing: the highest bits are as good as random.
    let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    if hash >> (64 - of.trailing_zeros()) == 0 { of } else { 0 }
}

/// How many entries one of `ns` stands for that was timed for so many, where so far `timed` took `sum_ns`.
fn bounded(stands_for: u64, ns: u64, timed: u64, sum_ns: u64) -> u64 {
    let is_long = timed != 0 && ns / LONG > sum_ns / timed;
    if is_long && ns.saturating_mul(stands_for) > sum_ns / LARGEST_PART { 1 } else { stands_for }
}

/// CPU time of the calling thread so far.
pub fn cpu_ns() -> u64 {
    let mut ts = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    sys::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut ts);
    ts.tv_sec as u64 * 1_000_000_000 + ts.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::super::measured::{SHORT_SAMPLE, SHORT_SAMPLE_OF_MANY};
    use super::*;

    #[test]
    fn timed_entries_stand_for_all() {
        for of in [SAMPLE, SHORT_SAMPLE, SHORT_SAMPLE_OF_MANY] {
            let sum: u64 = (0..1_000_000).map(|number| sampled(number, of)).sum();
            assert!(sum.abs_diff(1_000_000) < 1000, "{sum}");
            // Neither of two kinds that alternate is preferred.
            let even: u64 = (0..1_000_000).step_by(2).map(|number| sampled(number, of)).sum();
            assert!(even.abs_diff(500_000) < 1000, "{even}");
        }
    }

    #[test]
    fn long_entries_stand_for_others_like_them_and_the_longest_for_itself() {
        const MS: u64 = 1_000_000;
        assert_eq!(bounded(SAMPLE, 200_000, 50_000, 100 * MS), SAMPLE);
        assert_eq!(bounded(SAMPLE, MS, 50_000, 100 * MS), 1);
        assert_eq!(bounded(SAMPLE, u64::MAX, 50_000, 100 * MS), 1);
        // The first ones that are not all timed.
        assert_eq!(bounded(SAMPLE, 4_000, ALL, 2_000 * ALL), SAMPLE);
        // One in 600 entries takes 200 us, the others 2.
        let (mut sum, mut all, mut timed) = (0, 0, 0);
        for number in 0..100_000 {
            let ns = if number % 600 == 0 { 200_000 } else { 2_000 };
            all += ns;
            let stands_for = if number < ALL { 1 } else { sampled(number, SAMPLE) };
            let stands_for = if stands_for == 0 { 0 } else { bounded(stands_for, ns, timed, sum) };
            sum += ns * stands_for;
            timed += stands_for;
        }
        assert!(sum.abs_diff(all) < all / 10, "{sum} of {all}");
    }

    #[test]
    fn a_part_within_a_part_is_not_counted_again() {
        assert!(!is_inside());
        assert!(inside(|| is_inside() && inside(is_inside)));
        assert!(!is_inside());
        // A frame that a long jump has left.
        tls::set_slow_frame(stack_pointer() - 4096);
        assert!(!is_inside());
        tls::set_slow_frame(0);
    }
}
