//! lockmeter in the foreign process: the functions that take and give up locks and count it.
//!
//! They stand in front of the C library's when only the meter runs, and in front of lockdep's when
//! both do (`interpose/both.rs`). An acquisition is first tried for, and only what is contended
//! goes on to be waited for and timed; so a wait is known before it begins, and what does not wait
//! pays for nothing but its own counting.

pub mod acquire;
pub mod blocking;
pub mod clock;
pub mod cond;
pub mod hold;
pub mod mutex;
pub mod rwlock;
pub mod spin;
pub mod sync_waits;
pub mod tls;
pub mod user_locks;
pub mod wait;

pub use self::hold::times_every;

use core::cell::{LazyCell, UnsafeCell};
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::*};

use lockwright_engines::Trial;
use lockwright_engines::lockdep::{Core, Ident};
use lockwright_engines::lockmeter::{
    Boards, Call, CellRef, LockMeter, MeterThread, Missing, ReadersRef, key,
};
use lockwright_ledger::layout::{engines, is_for_room};
use lockwright_ledger::rows::meter::{Meter, Readers};
use lockwright_ledger::{Header, site};

use crate::callsite::{self, Return};
use crate::lock_id::identity::{self, Birth, Identify};
use crate::os::{mapping, sys};
use crate::process::hosts::{Host, nothing};
use crate::recorder::state;
use crate::stack::{modules, unwind};
use crate::threads::{ends, keys};

/// What the process's turns mean here.
pub const HOST: Host = Host {
    engine: engines::LOCKMETER,
    is_wanted,
    // SAFETY: as it says: no other thread is in here.
    start: |header| unsafe { start(header) },
    attach: nothing,
    forked,
    // By the destructor of a key of its own.
    thread_ended: nothing,
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
}

/// Remembers what was asked for: at start, before any thread.
pub fn ask(wanted: Wanted) {
    SAMPLE.store(wanted.sample, Relaxed);
    WHAT.store(if wanted.by_instance { !0 } else { CLASS }, Relaxed);
    clock::choose(wanted.monotonic);
    WANTED.store(true, Relaxed);
    keys::LOCKMETER.make(thread_exit);
    ends::END_METERS.set(end_those);
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
    // SAFETY: the caller's promise.
    unsafe { *METER.0.get() = LockMeter::new() };
    // What a child does not write to it need not copy.
    let parents = BY_TID.iter().filter(|slot| !slot.load(Relaxed).is_null());
    parents.for_each(|slot| slot.store(ptr::null_mut(), Relaxed));
    tls::set(ptr::null_mut());
    tls::set_closed(false);
    header.hold_sample.store(SAMPLE.load(Relaxed), Relaxed);
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
        tls::set(ptr::null_mut());
        tls::set_closed(false);
        HEADER.store(ptr::null_mut(), Relaxed);
        BOARDS.forget();
    }
}

/// Kernel thread id of the calling thread, if it is measured.
pub fn own_tid() -> Option<u32> {
    // SAFETY: as in `thread`.
    unsafe { tls::get().as_ref() }.map(MeterThread::tid)
}

/// The calling thread makes a long jump: what it waited for, it does not wait for any more.
pub fn wait_left() {
    // SAFETY: as in `thread`.
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
        // SAFETY: the core's lock is held.
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
    // Relaxed: who hears of it late asks once more.
    header().is_some_and(|header| is_for_room(header.stopped.load(Relaxed)))
}

// --- threads -------------------------------------------------------------------------------------

/// Meters by kernel thread id, a hint that is checked.
static BY_TID: [AtomicPtr<MeterThread>; 4096] = [const { AtomicPtr::new(ptr::null_mut()) }; 4096];

/// The calling thread's meter; the thread gets one if this is the first we hear of it.
#[inline(always)]
pub fn thread() -> Option<&'static mut MeterThread> {
    // SAFETY: set by `attach`, valid until the thread's exit; one thread, one reference at a time
    // (a signal handler's ends before ours goes on).
    match unsafe { tls::get().as_mut() } {
        Some(thread) => Some(thread),
        None => attach(),
    }
}

/// The calling thread is not to be metered any more, as it may not look at the clock. What it was
/// metered with.
pub fn leave() -> *mut MeterThread {
    let thread = tls::get();
    // SAFETY: as in `thread`.
    if let Some(thread) = unsafe { thread.as_mut() } {
        hold::end_all(thread);
    }
    tls::set(ptr::null_mut());
    tls::set_closed(true);
    thread
}

/// The calling thread may look at the clock after all; `thread` is what it was metered with.
pub fn come_back(thread: *mut MeterThread) {
    tls::set_closed(false);
    tls::set(thread);
}

#[cold]
fn attach() -> Option<&'static mut MeterThread> {
    if crate::os::tls::is_barred() && is_wanted() {
        state::lose_barred();
        return None;
    }
    if tls::is_closed() || !is_wanted() {
        return None;
    }
    match state::status() {
        state::ACTIVE => {}
        state::FORKED => state::begin_child(),
        _ => return None,
    }
    ends::look();
    let tid = sys::gettid();
    let thread = with_meter(|meter, core| meter.thread_start(core.writer(), tid))?;
    let Some(thread) = thread else {
        tls::set_closed(true);
        return None;
    };
    tls::set(thread);
    // Release pairs with the Acquire in `holder`.
    BY_TID[tid as usize % BY_TID.len()].store(thread, Release);
    watch_exit(1);
    // SAFETY: as in `thread`.
    Some(unsafe { &mut *thread })
}

/// The meter watches the calling thread.
pub fn is_metering() -> bool {
    is_wanted() && thread().is_some()
}

/// Has [`thread_exit`] called, for the `round`th time.
fn watch_exit(round: usize) {
    keys::LOCKMETER.set(ptr::without_provenance(round));
}

/// Destructors of other keys may still use locks: we go last, in the last of the rounds.
unsafe extern "C" fn thread_exit(round: *mut c_void) {
    /// PTHREAD_DESTRUCTOR_ITERATIONS.
    const ROUNDS: usize = 4;
    if round.addr() < ROUNDS {
        watch_exit(round.addr() + 1);
        return;
    }
    let thread = tls::get();
    if thread.is_null() {
        return;
    }
    // SAFETY: as in `thread`.
    hold::end_all(unsafe { &mut *thread });
    tls::set(ptr::null_mut());
    tls::set_closed(true);
    // SAFETY: the calling thread's own, which it has no more.
    unsafe { end(thread, sys::gettid()) };
}

/// The thread of kernel thread id `tid`, whose meter this is, ends.
///
/// # Safety
/// Nobody uses the meter afterwards.
unsafe fn end(thread: *mut MeterThread, tid: u32) {
    let slot = &BY_TID[tid as usize % BY_TID.len()];
    let _ = slot.compare_exchange(thread, ptr::null_mut(), Relaxed, Relaxed);
    with_meter(|meter, core| {
        // SAFETY: the caller's promise.
        unsafe { meter.thread_exit(core.writer(), thread) };
    });
}

/// Ends the meters of threads of which `has_ended` says so, by kernel thread id and whether it is
/// the calling one.
fn end_those(has_ended: &dyn Fn(u32, bool) -> bool) {
    let mut id = 0;
    loop {
        id += 1;
        let row = state::with_core(|core| core.ledger().row_ptr::<Meter>(id));
        let Some(row) = row.filter(|row| !row.is_null()) else { return };
        // SAFETY: a row, which stays mapped; its thread, or who ends it, changes the word at once.
        let tid = unsafe { AtomicU32::from_ptr(&raw mut (*row).tid) }.load(Relaxed);
        let thread = row.cast::<MeterThread>();
        if tid != 0 && has_ended(tid, thread == tls::get()) {
            // SAFETY: its thread is gone.
            unsafe {
                hold::end_all(&mut *thread);
                end(thread, tid);
            }
        }
    }
}

/// Site where, and since when, the thread of kernel id `tid` holds the lock at `addr`.
pub fn holder(tid: u32, addr: u64) -> Option<(u32, u64)> {
    // Acquire pairs with the Release in `attach`.
    let thread = BY_TID[tid as usize % BY_TID.len()].load(Acquire);
    if tid == 0 || thread.is_null() {
        return None;
    }
    // SAFETY: meters stay mapped.
    unsafe { MeterThread::find_foreign(thread, addr) }
}

// --- locks and cells -----------------------------------------------------------------------------

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
    // SAFETY: wrappers are given valid locks.
    match unsafe { (tls::get().as_mut(), identity::stamped(lock)) } {
        (Some(thread), Some(ident)) => Some((thread, ident)),
        _ => unknown(lock),
    }
}

#[cold]
fn unknown<T: Identify>(lock: *const T) -> Option<(&'static mut MeterThread, Ident)> {
    let thread = thread()?;
    // SAFETY: as in `subject`.
    let known = unsafe { identity::known(lock) };
    if known.is_none() && is_full() {
        thread.lose();
        return None;
    }
    // SAFETY: as above.
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
        // SAFETY: as the stub passes it, from within the call.
        let past = || unsafe { callsite::known_past_return(target.site, target.back, known) };
        if let Some(cell) = known(target.site).or_else(|| Some(past()?.1)) {
            return Some(Spot { cell, trial: None });
        }
    }
    spot_slowly(thread, target)
}

#[cold]
#[inline(never)]
fn spot_slowly(thread: &mut MeterThread, target: &Target) -> Option<Spot> {
    if !thread.has_room()
        && with_space(thread, |meter, core, thread| meter.grow_held(core.writer(), thread))
            != Some(true)
    {
        return None;
    }
    let frame = LazyCell::new(|| target.back.call(target.site));
    callsite::look_at_held(thread.held().iter().filter_map(MeterThread::trial_of), || *frame);
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
