//! The clock of lockmeter's times: the time-stamp counter where it runs evenly, else CLOCK_MONOTONIC.

use core::arch::x86_64::{__cpuid, _rdtsc};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use lockwright_ledger::Header;
use lockwright_ledger::layout::clock;

use crate::sys;

/// The time-stamp counter is used.
static TSC: AtomicBool = AtomicBool::new(false);

/// When the second of the header's pairs was last stored, in ticks.
static PAIRED: AtomicU64 = AtomicU64::new(0);

/// Ticks between two readings for the header: some milliseconds.
const PAIR_EVERY: u64 = 1 << 24;

/// Ticks now.
#[inline(always)]
pub fn now() -> u64 {
    if is_tsc() { tsc() } else { monotonic() }
}

/// The clock is the time-stamp counter.
#[inline(always)]
pub fn is_tsc() -> bool {
    TSC.load(Relaxed)
}

/// The time-stamp counter.
#[inline(always)]
pub fn tsc() -> u64 {
    // SAFETY: reads a counter.
    unsafe { _rdtsc() }
}

#[cold]
#[inline(never)]
fn monotonic() -> u64 {
    let mut ts = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec; the C library's asks the kernel's page, not the kernel.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut ts) };
    ts.tv_sec as u64 * 1_000_000_000 + ts.tv_nsec as u64
}

/// The counter runs at one rate, in all sleep states (CPUID 0x8000_0007, EDX bit 8).
fn is_invariant() -> bool {
    __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & 1 << 8 != 0
}

/// Chooses the clock, and stores its first reading in the header.
pub fn start(header: &Header, monotonic_only: bool) {
    let tsc = !monotonic_only && is_invariant();
    TSC.store(tsc, Relaxed);
    header.clock.store(if tsc { clock::TSC } else { clock::MONOTONIC }, Relaxed);
    store(header, 0);
    PAIRED.store(0, Relaxed);
}

/// Stores a later reading: the farther the two are apart, the better is the clock's rate known.
pub fn pair(header: &Header) {
    store(header, 2);
    PAIRED.store(now(), Relaxed);
}

/// As [`pair`], if the last reading is some time ago: `now` is the clock's.
pub fn pair_sometimes(header: &Header, now: u64) {
    if now.wrapping_sub(PAIRED.load(Relaxed)) > PAIR_EVERY {
        pair(header);
    }
}

fn store(header: &Header, at: usize) {
    // The nanoseconds lie between two readings of the counter: their middle is at most half a call off.
    let before = now();
    let ns = sys::now_ns(libc::CLOCK_MONOTONIC);
    let middle = before + (now() - before) / 2;
    header.clock_pairs[at].store(middle, Relaxed);
    header.clock_pairs[at + 1].store(ns, Relaxed);
}
