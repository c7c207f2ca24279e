//! Bounces, as the kernel's lock_stat counts them: acquisitions, and beginnings of waits, on another
//! CPU than that of the lock's last acquisition; and the shortest hold of each cell.
//!
//! Only on request. The wrappers that count stand before those that measure
//! (`interpose/locks/bounces.rs`), so that a user who does not ask pays nothing. A count is made while
//! the lock is held, and makes the hold longer: docs/meter.md says by how much.

use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

use libc::EOWNERDEAD;
use lockwright_engines::lockmeter::{CellRef, MeterThread};

use super::tls;
use crate::os::sys;

/// Has them counted from now on, unless there is no memory for it. Called at start, before any
/// thread.
pub fn ask() {
    let places = sys::map_zeroed(size_of::<[AtomicU64; PLACES]>());
    if !places.is_null() {
        LAST.store(places.cast(), Relaxed);
    }
}

/// They are counted.
pub fn is_wanted() -> bool {
    !LAST.load(Relaxed).is_null()
}

/// Locks whose last CPU is kept. Two locks at one place take it from each other: what is not known
/// is no bounce, so with many more locks than this there are too few, never too many.
const PLACES: usize = 1 << 16;

/// By hash of a lock's address: the address, and the CPU of its last acquisition above it. Null
/// where bounces are not counted.
static LAST: AtomicPtr<[AtomicU64; PLACES]> = AtomicPtr::new(ptr::null_mut());

/// Bits of a word of [`LAST`] that are the address.
const ADDRESS: u64 = (1 << 48) - 1;

fn place(addr: u64) -> Option<&'static AtomicU64> {
    // SAFETY: a zeroed mapping of that size, which stays, or null.
    let last = unsafe { LAST.load(Relaxed).as_ref() }?;
    // Fibonacci hashing (Knuth): the highest 16 bits.
    Some(&last[(addr.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize % PLACES])
}

/// The CPU of the last acquisition of the lock at `addr`, if it is known, in a word of [`LAST`].
fn cpu_in(word: u64, addr: u64) -> Option<u64> {
    (word & ADDRESS == addr & ADDRESS).then_some(word >> 48)
}

/// The calling thread's CPU. glibc has it from rseq's cpu_id, or else asks the kernel (getcpu).
fn own_cpu() -> Option<u64> {
    // SAFETY: no arguments; errno is only touched where there is no such call, which no kernel
    // lacks that the library runs on.
    let cpu = unsafe { libc::sched_getcpu() };
    u16::try_from(cpu).ok().map(u64::from)
}

/// The lock at `addr` has been acquired, if `result` says so.
pub fn acquired(addr: u64, result: c_int) -> c_int {
    if result == 0 || result == EOWNERDEAD {
        note(addr);
    }
    result
}

fn note(addr: u64) {
    // SAFETY: this thread's own meter, or one that holds nothing; it is only read here.
    let thread = unsafe { &*tls::raw() };
    let Some(held) = thread.entry_of(addr) else { return };
    // Taking a lock again that one holds is no acquisition.
    if MeterThread::recursion_of(&held) != 0 {
        return;
    }
    let (Some(cell), Some(cpu)) = (MeterThread::cell_of(&held), own_cpu()) else { return };
    let Some(place) = place(addr) else { return };
    let word = cpu << 48 | addr & ADDRESS;
    // Relaxed: the lock orders the next owner after this; other locks at this place have another
    // address.
    let before = place.load(Relaxed);
    if before == word {
        return;
    }
    place.store(word, Relaxed);
    if cpu_in(before, addr).is_some() {
        cell.bounce();
    }
}

/// A wait for the lock at `addr` begins, of an acquisition of `cell`.
pub fn contended(addr: u64, cell: CellRef) {
    let Some(place) = place(addr) else { return };
    let last = cpu_in(place.load(Relaxed), addr);
    if let (Some(last), Some(cpu)) = (last, own_cpu())
        && last != cpu
    {
        cell.contended_bounce();
    }
}

/// Lets the lock at `addr` go by `release`, which counts the hold.
pub fn around_release(addr: u64, release: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: `raw` is this thread's own meter, or one that holds nothing; it is only read here.
    let held = unsafe { &*tls::raw() }.entry_of(addr);
    let Some(cell) = held.as_ref().and_then(MeterThread::cell_of) else { return release() };
    let before = cell.holds();
    let result = release();
    cell.shortest_hold(before);
    result
}
