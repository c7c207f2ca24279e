//! Where an acquisition is counted: in the cell of its lock's class and its call site.

use core::cell::LazyCell;
use core::sync::atomic::Ordering::Relaxed;

use lockwright_engines::lockdep::Ident;
use lockwright_engines::lockmeter::{Call, CellRef, MeterThread, ReadersRef};
use lockwright_ledger::rows::meter::Readers;

use super::attached::thread;
use super::meter::{HEADER, WHAT, is_full, with_space};
use super::target::{Spot, Target};
use super::tls;
use crate::callsite;
use crate::lock_id::identity::{self, Birth, Identify};
use crate::os::mapping;
use crate::recorder::measured::{Short, measured, measured_short};
use crate::stack::unwind::{self, Frame};
use crate::stack::{modules, python};

/// The thread and the lock, if both are watched.
#[inline(always)]
pub fn subject<T: Identify>(lock: *const T) -> Option<(&'static mut MeterThread, Ident)> {
    // SAFETY: no call is named, so there is none that could have returned.
    unsafe { subject_of(lock, || None) }
}

/// As [`subject`], of the lock that the call which `call` finds is given, if that is known.
///
/// # Safety
/// That call has not returned. Its frame pointer may be anything.
#[inline(always)]
pub unsafe fn subject_of<T: Identify>(
    lock: *const T,
    call: impl FnOnce() -> Option<Frame>,
) -> Option<(&'static mut MeterThread, Ident)> {
    // SAFETY: wrappers are given valid locks; the meter is null or this thread's own.
    match unsafe { (tls::get().as_mut(), identity::stamped(lock)) } {
        (Some(thread), Some(ident)) => Some((thread, ident)),
        // SAFETY: the caller promises a call that has not returned.
        _ => unsafe { subject_slow(lock, call()) },
    }
}

/// The slow path of [`subject_of`]: the thread has no meter, or the lock carries no stamp.
///
/// # Safety
/// As for [`subject_of`].
#[cold]
unsafe fn subject_slow<T: Identify>(
    lock: *const T,
    call: Option<Frame>,
) -> Option<(&'static mut MeterThread, Ident)> {
    let thread = thread()?;
    // SAFETY: wrappers are given valid locks; the caller promises a call that has not returned.
    let newborn = || unsafe { identity::newborn(lock, call?, || {}) };
    if let Some(ident) = measured_short(newborn) {
        return Some((thread, ident));
    }
    // SAFETY: wrappers are given valid locks, whose stamp `known` reads.
    let known = unsafe { identity::known(lock) };
    if known.is_none() && is_full() {
        thread.lose();
        return None;
    }
    // SAFETY: wrappers are given valid locks, which `identify` may stamp.
    let ident = known.or_else(|| unsafe { identity::identify(lock, Birth::FirstAcquire) })?;
    Some((thread, ident))
}

/// Where to count the acquisition; there is room for the lock among the held ones.
#[inline(always)]
pub fn spot(thread: &mut MeterThread, target: &Target) -> Option<Spot> {
    match thread.known(target.key()) {
        Some(cell) => Some(Spot { cell, trial: None }),
        None => spot_past(thread, target),
    }
}

/// As [`spot`], as a part that is timed now and then: the walk to a line of an interpreted language is long, and no loop that measures
/// the price of a lock has one.
#[inline(always)]
pub fn spot_in(part: &mut Short, thread: &mut MeterThread, target: &Target) -> Option<Spot> {
    match thread.known(target.key()) {
        Some(cell) => Some(Spot { cell, trial: None }),
        None => known_past(thread, target).or_else(|| part.outside(|| spot_slow(thread, target))),
    }
}

/// As [`spot`], past wrappers.
#[inline(never)]
fn spot_past(thread: &mut MeterThread, target: &Target) -> Option<Spot> {
    known_past(thread, target).or_else(|| spot_slow(thread, target))
}

/// The cell that is known by a site past the acquisition's own.
#[inline(always)]
fn known_past(thread: &mut MeterThread, target: &Target) -> Option<Spot> {
    if !thread.has_room() {
        return None;
    }
    let known = |site| thread.find(target.key_past(site));
    // SAFETY: the stub passed `site` and `back`, and the call that they belong to has not
    // returned.
    let past = || unsafe { callsite::known_past_return(target.site, target.back, known) };
    let cell = known(target.site).or_else(|| Some(past()?.1))?;
    Some(Spot { cell, trial: None })
}

/// The slow path of [`spot`]: the cell is new, or there is no room.
#[cold]
#[inline(never)]
fn spot_slow(thread: &mut MeterThread, target: &Target) -> Option<Spot> {
    measured(|| find_or_make_spot(thread, target))
}

fn find_or_make_spot(thread: &mut MeterThread, target: &Target) -> Option<Spot> {
    if !thread.has_room()
        && with_space(thread, |meter, core, thread| meter.grow_held(core.writer(), thread))
            != Some(true)
    {
        return None;
    }
    let frame = LazyCell::new(|| target.back.call(target.site));
    callsite::look_at_held(thread.held().filter_map(|held| MeterThread::trial_of(&held)), || {
        *frame
    });
    let at = callsite::deep_from(target.site, || *frame);
    if let Some(cell) = thread.find(target.key_past(at.id)) {
        return Some(Spot { cell, trial: at.trial });
    }
    let at = at.admitted(target.site);
    let call = Call {
        class: target.ident.class(),
        inst: (target.ident.0 & WHAT.load(Relaxed)) as u32,
        addr: target.addr,
        mode: target.mode,
        site: at.id,
        ..Call::default()
    };
    // Most are taken by lines of an interpreted language that have one call site in common, and would all go by the first of them.
    let capture = if target.has_lines { python::capture } else { unwind::capture };
    let cell = cell_by(thread, target.key_past(at.id), &call, target.site, capture)?;
    Some(Spot { cell, trial: at.trial })
}

/// The site of a wait at `address` that is for no lock.
pub fn wait_site(address: u64) -> u64 {
    // Nothing will be released that could decide: what is undecided stays so.
    callsite::deep(address).admitted(address).id
}

/// The cell of `key`, made for `call`, which returns to `address`, if there is none yet.
pub fn cell_of(thread: &mut MeterThread, key: u64, call: &Call, address: u64) -> Option<CellRef> {
    // Without room, other code may lie there than did.
    match thread.find(key).filter(|_| thread.has_room()) {
        Some(cell) => Some(cell),
        None => cell_by(thread, key, call, address, unwind::capture),
    }
}

/// As [`cell_of`], where there is none; `capture` finds its stack.
fn cell_by(
    thread: &mut MeterThread,
    key: u64,
    call: &Call,
    address: u64,
    mut capture: fn(&mut [u64]) -> usize,
) -> Option<CellRef> {
    with_space(thread, |meter, core, thread| {
        modules::cover(core, &[address]);
        meter.cell(core, thread, key, call, &mut capture)
    })?
}

/// Bytes of a cache line: the unit of where the rows of readers lie.
const LINE: usize = 64;

/// The row of an rwlock's readers that lies at `place`: its offset in the ledger, in cache lines.
#[inline(always)]
pub fn readers_at(place: u32, ident: Ident) -> Option<ReadersRef> {
    let base = HEADER.load(Relaxed);
    if place == 0 || base.is_null() {
        return None;
    }
    // The header lies at the ledger's beginning. The padding that `place` was read from may hold
    // anything, if the lock's memory was another's before: it is only believed if the ledger is
    // mapped there.
    let offset = place as usize * LINE;
    if offset + size_of::<Readers>() > mapping::mapped() {
        return None;
    }
    let row = base.cast::<u8>().wrapping_add(offset).cast::<Readers>();
    // SAFETY: within the ledger's mapping, 64-aligned. Other rows may lie there: one whose words
    // happen to be this instance's would have some counts wrong.
    unsafe { ReadersRef::at(row, ident.inst()) }
}

/// The place of the row of an rwlock's readers, made if there is none yet.
#[cold]
pub fn readers_of(ident: Ident) -> Option<u32> {
    let thread = thread()?;
    with_space(thread, |meter, core, _| {
        let row = meter.readers(core.writer(), ident.class(), ident.inst())?;
        let offset = core.writer().offset_of(row.cast()) as usize;
        debug_assert!(offset.is_multiple_of(LINE), "a table's extents begin with a cache line");
        Some((offset / LINE) as u32)
    })?
}
