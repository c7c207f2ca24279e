//! What the threads that lockmeter measures share, and what was asked for.

use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::*};

use lockwright_engines::lockdep::Core;
use lockwright_engines::lockmeter::{Boards, CellRef, Conditions, LockMeter, MeterThread, Missing};
use lockwright_ledger::Header;
use lockwright_ledger::layout::is_for_room;

use super::clock;
use crate::recorder::state;

struct Shared(UnsafeCell<LockMeter>);

// SAFETY: only touched by `with_meter`, with the core's lock held, and by `renew`, while no other thread is in here.
unsafe impl Sync for Shared {}

static METER: Shared = Shared(UnsafeCell::new(LockMeter::new()));
pub(super) static BOARDS: Boards = Boards::new();
pub(super) static CONDITIONS: Conditions = Conditions::new();

/// lockmeter was asked for.
pub(super) static WANTED: AtomicBool = AtomicBool::new(false);
/// The part of an identity that tells call sites' cells apart: the class, or all of it.
pub(super) static WHAT: AtomicU64 = AtomicU64::new(CLASS);
pub(super) const CLASS: u64 = !0 << 32;
/// One hold in so many is timed.
pub(super) static SAMPLE: AtomicU32 = AtomicU32::new(1);
/// The ledger's header, null before there is one.
pub(super) static HEADER: AtomicPtr<Header> = AtomicPtr::new(ptr::null_mut());

/// lockmeter was asked for.
pub fn is_wanted() -> bool {
    WANTED.load(Relaxed)
}

/// Has a new meter, for a ledger that begins.
///
/// # Safety
/// No other thread is in here.
pub(super) unsafe fn renew() {
    // SAFETY: the caller promises that no other thread is in here, so nobody else refers to the
    // meter.
    unsafe { *METER.0.get() = LockMeter::new() };
}

/// The ledger's header, if there is one.
pub fn header() -> Option<&'static Header> {
    // Acquire pairs with the Release in `super::start`.
    // SAFETY: the header of a ledger, which stays mapped.
    unsafe { HEADER.load(Acquire).as_ref() }
}

/// Runs `f` on the shared state with the core's lock held.
#[cold]
pub fn with_meter<R>(f: impl FnOnce(&mut LockMeter, &mut Core) -> R) -> Option<R> {
    paired(state::with_core(|core| in_core(core, f)))
}

/// As [`with_meter`], by the thread whose kernel thread id is `own`.
#[cold]
pub fn with_meter_as<R>(own: u32, f: impl FnOnce(&mut LockMeter, &mut Core) -> R) -> Option<R> {
    paired(state::with_core_as(|| own, |core| in_core(core, f)))
}

/// Called with the core's lock held.
#[inline(always)]
fn in_core<R>(core: &mut Core, f: impl FnOnce(&mut LockMeter, &mut Core) -> R) -> R {
    // SAFETY: the caller has the core's lock, as its reference to the core shows, and the meter is only touched under it.
    f(unsafe { &mut *METER.0.get() }, core)
}

/// Other code may come to lie where some lay.
pub fn unloaded(core: &mut Core) {
    if is_wanted() {
        in_core(core, |meter, core| meter.code_is_gone(core.writer()));
    }
}

/// Passes on the result of what was done under the core's lock. What the clock's ticks are is noted now and then.
fn paired<R>(result: R) -> R {
    if let Some(header) = header() {
        clock::pair_sometimes(header, clock::now());
    }
    result
}

/// As [`with_meter`], for what takes space. Once there was none, it is not asked for any more: what
/// is lost from then on `thread` counts by itself, and no lock is taken for it.
#[cold]
pub fn with_space<R>(
    thread: &mut MeterThread,
    f: impl FnOnce(&mut LockMeter, &mut Core, &mut MeterThread) -> R,
) -> Option<R> {
    if is_full() {
        thread.lose();
        return None;
    }
    with_meter(|meter, core| f(meter, core, thread))
}

/// Sees to memory for waits that are to be recorded later: before a wait, not after it.
pub fn prepare(thread: &mut MeterThread) {
    if !thread.has_pending_memory() {
        with_space(thread, |meter, core, thread| meter.pending_memory(core.writer(), thread));
    }
}

/// There is no room left in the ledger.
pub(super) fn is_full() -> bool {
    // Relaxed: a thread that sees it late asks once more.
    header().is_some_and(|header| is_for_room(header.stopped.load(Relaxed)))
}

/// Supplies what a cell was missing to count `ticks`.
#[cold]
#[inline(never)]
pub fn supply(thread: &mut MeterThread, cell: CellRef, kind: u16, ticks: u64, missing: Missing) {
    let supply = |meter: &mut LockMeter, core: &mut Core, thread: &mut MeterThread| {
        meter.supply(core.writer(), thread, cell, kind, ticks, missing);
    };
    match missing {
        Missing::Run => with_space(thread, supply),
        // Once in 65,536 counts, and most have their space already.
        Missing::Carry(..) => with_meter(|meter, core| supply(meter, core, thread)),
    };
}
