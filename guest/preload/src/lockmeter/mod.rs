//! lockmeter in the foreign process: the functions that take and give up locks and count it.
//!
//! They wrap the C library's functions when only the meter runs, and lockdep's wrappers when both
//! do (`interpose/locks/both_engines.rs`). An acquisition is first tried for, and only what is contended
//! goes on to be waited for and timed; so a wait is known before it begins, and what does not wait
//! pays for nothing but its own counting.

pub mod acquire;
mod attached;
pub mod blocking;
pub mod bounces;
pub mod clock;
pub mod cond;
pub mod futex;
pub mod hold;
pub mod mutex;
pub mod rwlock;
pub mod spin;
pub mod sync_waits;
pub mod tls;
pub mod user_locks;
pub mod wait;

pub use self::attached::{come_back, holder, is_metering, leave, own_tid, thread};
pub use self::hold::times_every;

use core::cell::{LazyCell, UnsafeCell};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::*};

use lockwright_engines::Trial;
use lockwright_engines::lockdep::{Core, Ident};
use lockwright_engines::lockmeter::{
    Boards, Call, CellRef, LockMeter, MeterThread, Missing, ReadersRef, key,
};
use lockwright_ledger::layout::{engines, is_for_room};
use lockwright_ledger::rows::meter::Readers;
use lockwright_ledger::{Header, site};

use crate::callsite::{self, Return};
use crate::hosts::{Host, nothing};
use crate::lock_id::identity::{self, Birth, Identify};
use crate::os::mapping;
use crate::recorder::measured::measured;
use crate::recorder::state;
use crate::stack::{modules, unwind};

/// What the process's turns mean here.
pub const HOST: Host = Host {
    engine: engines::LOCKMETER,
    is_wanted,
    // SAFETY: as it says: no other thread is in here.
    start: |header| unsafe { start(header) },
    attach: nothing,
    forked,
    thread_ended: attached::ended,
    threads_gone: attached::end_those,
    finish,
};

struct Shared(UnsafeCell<LockMeter>);

// SAFETY: only touched by `with_meter`, with the core's lock held.
unsafe impl Sync for Shared {}

static METER: Shared = Shared(UnsafeCell::new(LockMeter::new()));
static BOARDS: Boards = Boards::new();

/// lockmeter was asked for.
static WANTED: AtomicBool = AtomicBool::new(false);
/// The part of an identity that tells call sites' cells apart: the class, or all of it.
static WHAT: AtomicU64 = AtomicU64::new(CLASS);
const CLASS: u64 = !0 << 32;
/// One hold in so many is timed.
static SAMPLE: AtomicU32 = AtomicU32::new(1);
/// The ledger's header, null before there is one.
static HEADER: AtomicPtr<Header> = AtomicPtr::new(ptr::null_mut());

/// What the user asked for.
#[derive(Clone, Copy)]
pub struct Wanted {
    /// One hold in so many is timed; 0: none.
    pub sample: u32,
    /// Instances of a class are kept apart.
    pub by_instance: bool,
    /// The time-stamp counter is not to be used.
    pub monotonic: bool,
    /// Bounces are to be counted.
    pub bounces: bool,
}

/// Remembers what was asked for: at start, before any thread.
pub fn ask(wanted: Wanted) {
    SAMPLE.store(wanted.sample, Relaxed);
    WHAT.store(if wanted.by_instance { !0 } else { CLASS }, Relaxed);
    clock::choose(wanted.monotonic);
    if wanted.bounces {
        bounces::ask();
    }
    WANTED.store(true, Relaxed);
}

/// lockmeter was asked for.
pub fn is_wanted() -> bool {
    WANTED.load(Relaxed)
}

/// Begins on a new ledger: at start, or in a forked child.
///
/// # Safety
/// No other thread is in here.
unsafe fn start(header: &'static Header) {
    if !is_wanted() {
        return;
    }
    // SAFETY: the caller promises that no other thread is in here, so nobody else refers to the
    // meter.
    unsafe { *METER.0.get() = LockMeter::new() };
    attached::begin();
    header.hold_sample.store(SAMPLE.load(Relaxed), Relaxed);
    header.bounces.store(u32::from(bounces::is_wanted()), Relaxed);
    header.by_instance.store(u32::from(WHAT.load(Relaxed) != CLASS), Relaxed);
    clock::start(header);
    // A second reading at once, in case that no other comes.
    clock::pair(header);
    HEADER.store(ptr::from_ref(header).cast_mut(), Release);
}

pub fn header() -> Option<&'static Header> {
    // Acquire pairs with the Release in `start`.
    // SAFETY: the header of a ledger, which stays mapped.
    unsafe { HEADER.load(Acquire).as_ref() }
}

/// In a forked child: what there is is the parent's.
fn forked() {
    if is_wanted() {
        attached::detach();
        HEADER.store(ptr::null_mut(), Relaxed);
        BOARDS.forget();
    }
}

/// The calling thread makes a long jump: what it waited for, it does not wait for any more.
pub fn wait_left() {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    if let Some(thread) = unsafe { tls::get().as_mut() } {
        thread.wait_left();
    }
}

/// The process ends.
pub fn finish() {
    if let Some(header) = header() {
        clock::pair(header);
    }
}

/// Runs `f` on the shared state with the core's lock held.
#[cold]
pub fn with_meter<R>(f: impl FnOnce(&mut LockMeter, &mut Core) -> R) -> Option<R> {
    let result = state::with_core(|core| {
        // SAFETY: the core's lock is held, and the meter is only touched under it.
        f(unsafe { &mut *METER.0.get() }, core)
    });
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

/// There is no room left in the ledger.
fn is_full() -> bool {
    // Relaxed: a thread that sees it late asks once more.
    header().is_some_and(|header| is_for_room(header.stopped.load(Relaxed)))
}

/// A lock, as it is taken somewhere.
#[derive(Clone, Copy)]
pub struct Target {
    pub addr: u64,
    pub ident: Ident,
    pub mode: u16,
    pub site: u64,
    pub back: Return,
}

impl Target {
    /// The key at its own site.
    #[inline(always)]
    fn key(&self) -> u64 {
        self.key_at(self.site)
    }

    /// The key at `site`.
    #[inline(always)]
    fn key_at(&self, site: u64) -> u64 {
        key(self.ident.0 & WHAT.load(Relaxed), self.mode, site)
    }

    /// The key at a site of which nothing but the hash counts.
    #[inline(always)]
    fn key_past(&self, site: u64) -> u64 {
        self.key_at(site::hash(site))
    }
}

/// The thread and the lock, if both are watched.
#[inline(always)]
pub fn subject<T: Identify>(lock: *const T) -> Option<(&'static mut MeterThread, Ident)> {
    // SAFETY: wrappers are given valid locks; the meter is null or this thread's own.
    match unsafe { (tls::get().as_mut(), identity::stamped(lock)) } {
        (Some(thread), Some(ident)) => Some((thread, ident)),
        _ => subject_slow(lock),
    }
}

/// The slow path of [`subject`]: the thread has no meter, or the lock carries no stamp.
#[cold]
fn subject_slow<T: Identify>(lock: *const T) -> Option<(&'static mut MeterThread, Ident)> {
    let thread = thread()?;
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

/// What an acquisition is counted in.
#[derive(Clone, Copy)]
pub struct Spot {
    pub cell: CellRef,
    /// What its release is to decide on the call site.
    trial: Option<Trial>,
}

/// Where to count the acquisition; there is room for the lock among the held ones.
#[inline(always)]
pub fn spot(thread: &mut MeterThread, target: &Target) -> Option<Spot> {
    match thread.known(target.key()) {
        Some(cell) => Some(Spot { cell, trial: None }),
        None => spot_past(thread, target),
    }
}

/// As [`spot`], past wrappers.
#[inline(never)]
fn spot_past(thread: &mut MeterThread, target: &Target) -> Option<Spot> {
    if thread.has_room() {
        let known = |site| thread.find(target.key_past(site));
        // SAFETY: the stub passed `site` and `back`, and the call that they belong to has not
        // returned.
        let past = || unsafe { callsite::known_past_return(target.site, target.back, known) };
        if let Some(cell) = known(target.site).or_else(|| Some(past()?.1)) {
            return Some(Spot { cell, trial: None });
        }
    }
    spot_slow(thread, target)
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
    let cell = cell_of(thread, target.key_past(at.id), &call, target.site)?;
    Some(Spot { cell, trial: at.trial })
}

/// The site of a wait at `address` that is for no lock.
pub fn wait_site(address: u64) -> u64 {
    // Nothing will be released that could decide: what is undecided stays so.
    callsite::deep(address).admitted(address).id
}

/// The cell of `key`, made for `call`, which returns to `address`, if there is none yet.
pub fn cell_of(thread: &mut MeterThread, key: u64, call: &Call, address: u64) -> Option<CellRef> {
    if let Some(cell) = thread.find(key) {
        return Some(cell);
    }
    with_space(thread, |meter, core, thread| {
        modules::cover(core, &[address]);
        // Without an interpreter's frames: its lines have one call site in common, and would all go
        // by the first of them.
        meter.cell(core, thread, key, call, &mut unwind::capture)
    })?
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

/// The row of an rwlock's readers that lies at `place`: its offset in the ledger, in units of a
/// row.
#[inline(always)]
pub fn readers_at(place: u32, ident: Ident) -> Option<ReadersRef> {
    let base = HEADER.load(Relaxed);
    if place == 0 || base.is_null() {
        return None;
    }
    // The header lies at the ledger's beginning. The padding that `place` was read from may hold
    // anything, if the lock's memory was another's before: it is only believed if the ledger is
    // mapped there.
    let offset = place as usize * size_of::<Readers>();
    if offset >= mapping::mapped() {
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
        Some((core.writer().offset_of(row.cast()) as usize / size_of::<Readers>()) as u32)
    })?
}
