//! What the slow path costs the program: CPU time of its threads, which a preempted or sleeping thread does not use.
//!
//! The clock is a system call, so only the first entries are all timed. Of later ones one in [`SAMPLE`] is, and stands
//! for as many. Which one is decided by a hash of the entry's number: entries of different cost alternate.

use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::Header;

use crate::os::sys;

/// So many entries are all timed.
const ALL: u64 = 64;

/// One of so many later ones is timed.
const SAMPLE: u64 = 8;

/// Entries are timed no more.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// Times no more entries: a filter of system calls may kill for one that the program does not make.
pub fn stop_timing() {
    // Relaxed: the thread that installs the filter stores before it does, and has the filter alone.
    IS_OVER.store(true, Relaxed);
}

/// An entry that is timed.
pub struct Timed {
    stands_for: u64,
    begun_ns: u64,
}

/// Counts an entry and begins to time it, if its turn has come.
pub fn begin(header: &Header) -> Option<Timed> {
    // Relaxed: counts, which nothing else is told by.
    let number = header.slow_entries.fetch_add(1, Relaxed);
    let stands_for = stands_for(number);
    if stands_for == 0 || IS_OVER.load(Relaxed) {
        return None;
    }
    Some(Timed { stands_for, begun_ns: cpu_ns() })
}

impl Timed {
    /// The entry ends.
    pub fn end(self, header: &Header) {
        // Relaxed: as in `stop_timing`.
        if IS_OVER.load(Relaxed) {
            return;
        }
        let ns = cpu_ns().saturating_sub(self.begun_ns);
        // Relaxed: as in `begin`.
        header.slow_timed.fetch_add(self.stands_for, Relaxed);
        header.slow_cpu_ns.fetch_add(ns.saturating_mul(self.stands_for), Relaxed);
    }
}

/// How many entries the one of this number stands for: 0 if it is not timed.
const fn stands_for(number: u64) -> u64 {
    // Fibonacci hashing: the highest bits are as good as random.
    let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    match number {
        ..ALL => 1,
        _ if hash >> 61 == 0 => SAMPLE,
        _ => 0,
    }
}

/// CPU time of the calling thread so far.
pub fn cpu_ns() -> u64 {
    let mut ts = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    sys::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut ts);
    ts.tv_sec as u64 * 1_000_000_000 + ts.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timed_entries_stand_for_all() {
        assert!((0..ALL).all(|number| stands_for(number) == 1));
        let sum: u64 = (0..1_000_000).map(stands_for).sum();
        assert!(sum.abs_diff(1_000_000) < 1000, "{sum}");
        // Neither of two kinds that alternate is preferred.
        let even: u64 = (0..1_000_000).step_by(2).map(stands_for).sum();
        assert!(even.abs_diff(500_000) < 1000, "{even}");
    }
}
