//! A wait: timed, and charged to the holders of that time.

use core::ffi::c_int;

use lockwright_engines::lockmeter::{
    CellRef, Contention, For, Left, MeterThread, Pending, Place, Shares, Waiting,
};
use lockwright_ledger::timeline::event_flag;

use super::attached::{self, holder};
use super::meter::{BOARDS, header, prepare, with_space};
use super::target::{Spot, Target};
use super::{bounces, clock, hold, record, timeline};
use crate::recorder::measured::{Short, measured_short};
use crate::stack::modules;

/// How a lock's holder can be known.
#[derive(Clone, Copy)]
pub enum Owner {
    /// Not at all.
    Unknown,
    /// Its kernel thread id when the wait began.
    Was(u32),
    /// The lock's word that says so, whenever it is asked.
    At(*const u32),
}

/// A lock that is waited for.
#[derive(Clone, Copy)]
pub struct Contended {
    /// The holder.
    pub owner: Owner,
    /// It spins.
    pub spins: bool,
    /// Several can have the lock at once.
    pub shared: bool,
}

impl Contended {
    /// Kernel thread id of the holder, 0 if it is not known.
    fn owner_tid(self) -> u32 {
        match self.owner {
            Owner::Unknown => 0,
            Owner::Was(tid) => tid,
            // SAFETY: a word of the lock at `addr`, for which the caller is waiting.
            Owner::At(word) => unsafe { word.read_volatile() },
        }
    }

    /// The holder when the wait began, by its kernel thread id, if it is a thread of another process: one that is not measured here,
    /// of a lock in memory that processes share.
    fn other_process(self, addr: u64, tid: u32) -> Option<u32> {
        (tid != 0 && !attached::is_known(tid) && modules::is_shared(addr)).then_some(tid)
    }

    /// Site where, and since when, the lock at `addr` is held, as far as that is known.
    fn holder(self, addr: u64) -> Option<(u32, u64)> {
        match self.owner {
            Owner::Unknown => None,
            Owner::Was(tid) => holder(tid, addr),
            // SAFETY: a word of the lock at `addr`, for which the caller is waiting.
            Owner::At(word) => holder(unsafe { word.read_volatile() }, addr),
        }
    }
}

/// Waits for a lock by `block` and counts it; once the lock is held its entry is made, and the rest
/// is put off until it is let go.
#[cold]
pub fn lock(
    thread: &mut MeterThread,
    target: &Target,
    spot: Spot,
    contended: Contended,
    block: impl FnOnce() -> c_int,
) -> c_int {
    let cell = spot.cell;
    prepare(thread);
    cell.begin();
    measure(thread, target.addr, cell, contended, block, |thread, result, waited| match result {
        0 | libc::EOWNERDEAD => {
            held_after(thread, Some(waited), target.addr, spot, contended.shared);
        }
        libc::ETIMEDOUT => {
            cell.time_out();
            record::wait(thread, waited);
        }
        // Refused (EDEADLK and the like): there was no wait.
        _ => cell.take_back(),
    })
}

/// Waits by `block` for the lock at `addr`, as an acquisition of `cell`, and has `then` do with the wait what is to be done.
pub fn measure(
    thread: &mut MeterThread,
    addr: u64,
    cell: CellRef,
    contended: Contended,
    block: impl FnOnce() -> c_int,
    then: impl FnOnce(&mut MeterThread, c_int, &Pending),
) -> c_int {
    // The wait itself is the program's.
    let part = Short::begin();
    let begun = clock::now();
    bounces::contended(addr, cell);
    let place = enter(thread, addr, begun);
    let (owner, before) = (contended.owner_tid(), contended.holder(addr));
    part.end();
    let (result, ended) = block_at(thread, cell, addr, begun, block);
    let lasted = Lasted { addr, cell, contended, owner, before, begun, ended };
    measured_short(|| lasted.end(thread, place.as_ref(), result, then));
    result
}

/// A wait that has just come to its end.
struct Lasted {
    addr: u64,
    cell: CellRef,
    contended: Contended,
    /// Kernel id of the holder when it began, 0 if that is not known.
    owner: u32,
    /// Where and since when that had the lock.
    before: Option<(u32, u64)>,
    begun: u64,
    ended: u64,
}

impl Lasted {
    /// Not part of [`measure`], under whose frame the wait takes place: it takes much of a stack.
    #[inline(never)]
    fn end(
        &self,
        thread: &mut MeterThread,
        place: Option<&Place>,
        result: c_int,
        then: impl FnOnce(&mut MeterThread, c_int, &Pending),
    ) {
        let &Self { addr, cell, contended, owner, before, begun, ended } = self;
        let ticks = ended.saturating_sub(begun);
        let left = place.and_then(|place| left(place, ended));
        let shares = place.map_or(Shares::NONE, |place| {
            let mut shares = BOARDS.leave(place, before);
            // The present holder has not added to the board yet.
            if result == libc::ETIMEDOUT
                && let Some((site, since)) = contended.holder(addr)
            {
                shares.add(site, ended.saturating_sub(since.max(begun)));
            }
            if shares.held() == 0
                && let Some(tid) = contended.other_process(addr, owner)
            {
                record::other_process(thread, cell, tid, ticks);
                return Shares::NONE;
            }
            shares.settle(ticks);
            shares
        });
        let spun = if contended.spins { ticks } else { 0 };
        let gave_up = if result == libc::ETIMEDOUT { event_flag::GAVE_UP } else { 0 };
        let what = For {
            addr,
            holder: owner & libc::FUTEX_TID_MASK,
            holder_site: before.map_or(0, |(site, _)| site),
            flags: event_flag::LOCK | gave_up,
            ..For::default()
        };
        let what = if gave_up == 0 { ended_by(left, what) } else { what };
        then(thread, result, &Pending { spun, what, ..Pending::new(cell, ended, ticks, shares) });
    }
}

/// The holder that let a waiter in at `ended`, if the timeline is to have it.
pub fn left(place: &Place, ended: u64) -> Option<Left> {
    if timeline::is_wanted() { BOARDS.left(place, ended) } else { None }
}

/// What is known of a wait for a lock, the last holder among it.
pub fn ended_by(left: Option<Left>, what: For) -> For {
    left.map_or(what, |left| {
        let is_known = what.holder != 0;
        let holder = if is_known { what.holder } else { left.tid };
        let holder_site = if is_known { what.holder_site } else { left.site };
        For { when: left.at, by: left.tid, holder, holder_site, ..what }
    })
}

/// A wait for the lock at `addr`, as an acquisition of `cell`, begins here, and ends with [`end`]:
/// one that is no call. The holder is not known.
pub fn begin(thread: &mut MeterThread, addr: u64, cell: CellRef) -> Contention {
    let begun = clock::now();
    bounces::contended(addr, cell);
    let place = enter(thread, addr, begun);
    Contention { addr, begun, cell, place, outer: begin_at(thread, cell, addr, begun) }
}

/// A wait ends that [`begin`] began.
pub fn end(thread: &mut MeterThread, wait: &Contention) -> Pending {
    let ended = clock::now();
    thread.wait_ends(wait.outer, ended);
    let ticks = ended.saturating_sub(wait.begun);
    let left = wait.place.and_then(|place| left(&place, ended));
    let what = For { addr: wait.addr, flags: event_flag::LOCK, ..For::default() };
    let what = ended_by(left, what);
    let shares = wait.place.map_or(Shares::NONE, |place| {
        let mut shares = BOARDS.leave(&place, None);
        shares.settle(ticks);
        shares
    });
    Pending { what, ..Pending::new(wait.cell, ended, ticks, shares) }
}

/// Waits by `block`; for as long, the ledger says where, for what and since when. When the wait was
/// over.
pub fn block_at<R>(
    thread: &mut MeterThread,
    cell: CellRef,
    addr: u64,
    begun: u64,
    block: impl FnOnce() -> R,
) -> (R, u64) {
    let outer = begin_at(thread, cell, addr, begun);
    let result = block();
    let ended = clock::now();
    thread.wait_ends(outer, ended);
    (result, ended)
}

/// The ledger says from here on where the thread waits, for what and since when. The wait that this
/// interrupts.
pub fn begin_at(thread: &mut MeterThread, cell: CellRef, addr: u64, begun: u64) -> Waiting {
    // If the wait never ends, this is the last that is known of the process' clock.
    if let Some(header) = header() {
        clock::pair_sometimes(header, begun);
    }
    thread.wait_begins(Waiting { site: cell.site(), addr, since: begun })
}

/// The thread has the lock at `addr`, after `waited` if that is known. The wait is recorded once
/// the lock is released, or at once if there is no room to keep it.
pub fn held_after(
    thread: &mut MeterThread,
    waited: Option<&Pending>,
    addr: u64,
    spot: Spot,
    shared: bool,
) {
    let keeps = waited.is_some() && thread.can_keep();
    if let Some(waited) = waited.filter(|_| !keeps) {
        record::wait(thread, waited);
    }
    hold::begin(thread, addr, spot, shared);
    if let Some(waited) = waited.filter(|_| keeps) {
        thread.keep(waited);
    }
}

/// The place of a wait for the lock at `addr` at its board.
pub fn enter(thread: &mut MeterThread, addr: u64, now: u64) -> Option<Place> {
    if let Some(place) = BOARDS.enter(addr, now) {
        return Some(place);
    }
    let new = with_space(thread, |meter, core, _| meter.new_board(core.writer()));
    if let Some(Some(board)) = new {
        // SAFETY: `new_board` has just made this row: it is mapped, zero except its state, and in
        // no list yet.
        return Some(unsafe { BOARDS.add(addr, now, board) });
    }
    BOARDS.give_up(addr);
    None
}
