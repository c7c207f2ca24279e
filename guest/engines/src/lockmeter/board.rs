//! Boards: who held the locks that somebody waits for.
//!
//! A waiter comes to the lock's board before it waits ([`Boards::enter`]). A holder that may have
//! waiters adds its hold there ([`Boards::charge`]) before it releases the lock: so the next owner
//! finds it. What a holder looks at in the usual case is one word
//! ([`Boards::is_waited_for`]).
//!
//! A board is found by the lock's address, belongs to it as long as somebody waits, and then to the
//! next lock of the same hash that needs one.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicPtr, AtomicU32};

use lockwright_ledger::rows::meter::{BOARD_HOLDS, BOARD_SITES, Board};

use super::shares::Shares;
use crate::shared_row::{self, SharedRow};

/// Hash buckets: words that a holder looks at.
const BUCKETS: usize = 1024;

/// All boards of a process.
pub struct Boards {
    waiters: [AtomicU32; BUCKETS],
    heads: [AtomicPtr<Board>; BUCKETS],
}

/// A hold that ends.
#[derive(Clone, Copy, Debug)]
pub struct Hold {
    /// Address of the lock.
    pub addr: u64,
    /// Site where it was acquired.
    pub site: u32,
    /// When it was acquired, 0 if that is not known.
    pub since: u64,
    /// Now.
    pub now: u64,
    /// Others can hold it at the same time.
    pub shared: bool,
    /// Kernel id of the thread that holds it.
    pub tid: u32,
}

/// The end of a hold, as a waiter sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// When.
    pub at: u64,
    /// Kernel id of the thread that held the lock.
    pub tid: u32,
    /// Where it took it.
    pub site: u32,
}

/// A copy of a board's sums.
#[derive(Clone, Copy, Debug)]
pub struct Sums {
    len: usize,
    sites: [u32; BOARD_SITES],
    ticks: [u64; BOARD_SITES],
    others: u64,
}

/// A waiter's place at a board.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    board: SharedRow<Board>,
    addr: u64,
    /// When the wait began.
    begun: u64,
    before: Sums,
    /// Exclusive holds that had ended by then: the next is the one that the wait found.
    holds: u64,
    /// Since when that has been on the clock already, at the earliest.
    last: u64,
}

impl Default for Boards {
    fn default() -> Self {
        Self::new()
    }
}

fn bucket(addr: u64) -> usize {
    (addr.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize
}

impl Boards {
    /// No boards yet.
    pub const fn new() -> Self {
        Self {
            waiters: [const { AtomicU32::new(0) }; BUCKETS],
            heads: [const { AtomicPtr::new(core::ptr::null_mut()) }; BUCKETS],
        }
    }

    /// Forgets all boards: in a forked child, whose parent's they are.
    pub fn forget(&self) {
        // What the child does not write to it need not copy.
        let waiters = self.waiters.iter().filter(|word| word.load(Relaxed) != 0);
        waiters.for_each(|word| word.store(0, Relaxed));
        let heads = self.heads.iter().filter(|head| !head.load(Relaxed).is_null());
        heads.for_each(|head| head.store(core::ptr::null_mut(), Relaxed));
    }

    /// Somebody may wait for the lock at `addr`: its holder has something to tell before it leaves.
    #[inline(always)]
    pub fn is_waited_for(&self, addr: u64) -> bool {
        // SeqCst pairs with the one in `enter`: a waiter that is not seen here finds the lock free,
        // or held by a later holder. A plain load on x86.
        self.waiters[bucket(addr)].load(SeqCst) != 0
    }

    fn all(&self, addr: u64) -> impl Iterator<Item = SharedRow<Board>> {
        // Acquire pairs with the Release in `add`.
        let mut next = self.heads[bucket(addr)].load(Acquire);
        core::iter::from_fn(move || {
            if next.is_null() {
                return None;
            }
            // SAFETY: a board of the list, which `add` was promised stays mapped.
            let board = unsafe { SharedRow::new(next) };
            // SAFETY: `board` is in the list, so its row stays mapped; the word is written before
            // the board is in the list.
            next = unsafe { link(board.as_ptr()).load(Acquire) };
            Some(board)
        })
    }

    /// A thread is about to wait for the lock at `addr`. `None`: the caller calls [`Boards::add`]
    /// with a fresh board, or [`Boards::give_up`].
    pub fn enter(&self, addr: u64, now: u64) -> Option<Place> {
        // Pairs with `is_waited_for`.
        self.waiters[bucket(addr)].fetch_add(1, SeqCst);
        self.find(addr, now)
    }

    /// A board that others wait at for this lock, or one that nobody uses.
    fn find(&self, addr: u64, now: u64) -> Option<Place> {
        let joined = |board: SharedRow<Board>| {
            if board.addr().load(Relaxed) != addr {
                return None;
            }
            let joins = |sums: BoardSums<'_>| {
                if !board.is_waited_at(addr) {
                    return None;
                }
                board.waiters().fetch_add(1, Relaxed);
                Some(place(board, &sums, addr, now))
            };
            board.with(joins).flatten()
        };
        let claimed = |board: SharedRow<Board>| {
            if board.waiters().load(Relaxed) != 0 {
                return None;
            }
            let claims = |sums: BoardSums<'_>| {
                if board.waiters().load(Relaxed) != 0 {
                    return None;
                }
                (*sums.len, *sums.others, *sums.last, *sums.holds) = (0, 0, now, 0);
                *sums.left_at = 0;
                board.addr().store(addr, Relaxed);
                board.waiters().store(1, Relaxed);
                Some(place(board, &sums, addr, now))
            };
            board.with(claims).flatten()
        };
        self.all(addr).find_map(joined).or_else(|| self.all(addr).find_map(claimed))
    }

    /// After [`Boards::enter`] returned `None`: the wait takes place at a fresh board. The board is
    /// the waiter's before others can see it. They cannot take it, and the waiter needs no second
    /// look, which fails if another thread loses the processor while it works on a board.
    ///
    /// # Safety
    /// `board` is a mapped row, zero except its state, that is in no list yet. It stays mapped.
    pub unsafe fn add(&self, addr: u64, now: u64, board: *mut Board) -> Place {
        // SAFETY: by contract `board` is a mapped row that stays mapped.
        let row = unsafe { SharedRow::new(board) };
        // SAFETY: not in a list yet, so no other thread has the row, and its lock is not needed.
        let sums = unsafe { <Board as shared_row::Row>::fields(board) };
        *sums.last = now;
        row.addr().store(addr, Relaxed);
        row.waiters().store(1, Relaxed);
        let place = place(row, &sums, addr, now);

        let head = &self.heads[bucket(addr)];
        let mut first = head.load(Relaxed);
        loop {
            // SAFETY: not in a list yet, so this thread's.
            unsafe { link(board).store(first, Relaxed) };
            // Release pairs with the Acquire in `all`.
            match head.compare_exchange_weak(first, board, Release, Relaxed) {
                Ok(_) => return place,
                Err(now) => first = now,
            }
        }
    }

    /// The wait that [`Boards::enter`] returned `None` for goes without a board, or is over.
    pub fn give_up(&self, addr: u64) {
        self.waiters[bucket(addr)].fetch_sub(1, Relaxed);
    }

    /// One more waiter has the same place.
    pub fn join(&self, place: &Place) {
        // Relaxed, both: the board is the first waiter's, so it is not claimed for another lock meanwhile.
        self.waiters[bucket(place.addr)].fetch_add(1, Relaxed);
        place.board.waiters().fetch_add(1, Relaxed);
    }

    /// The holder that left last, in a wait that ended at `ended`; `None` if that is not known.
    pub fn left(&self, place: &Place, ended: u64) -> Option<Left> {
        let left = place.board.with(|row| Left {
            at: *row.left_at,
            tid: *row.left_tid,
            site: *row.left_site,
        })?;
        // Before the wait, it let in another; after its end, it was one of several readers.
        (left.at != 0 && (place.begun..=ended).contains(&left.at)).then_some(left)
    }

    /// The wait is over, and who held the lock does not matter.
    pub fn quit(&self, place: &Place) {
        place.board.leave();
        self.give_up(place.addr);
    }

    /// As [`Boards::leave`], who held the lock from the time `from` on, which is later than the waiter came. As far as the board
    /// still knows: of the last holds. Each counts up to the next.
    pub fn leave_from(&self, place: &Place, from: u64) -> Shares {
        let mut shares = Shares::NONE;
        place.board.with(|row| {
            let mut until = *row.last;
            let known = row.holds.wrapping_sub(place.holds).min(BOARD_HOLDS as u64);
            for back in 1..=known {
                let i = row.holds.wrapping_sub(back) as usize % BOARD_HOLDS;
                let since = row.hold_since[i];
                shares.add(row.hold_sites[i], until.saturating_sub(since.max(from)));
                if since <= from {
                    break;
                }
                until = since;
            }
        });
        self.quit(place);
        shares
    }

    /// The wait is over: who held the lock meanwhile. `found`: at which site and since when it was
    /// held when the wait began, if that is known otherwise.
    ///
    /// The board's sums have all of that hold, and only a part of it was waited for. Its beginning
    /// is on the board unless too many others have ended since.
    pub fn leave(&self, place: &Place, found: Option<(u32, u64)>) -> Shares {
        let mut shares = Shares::NONE;
        // The parts are counted at once: a copy of the sums would have its place on the program's stack.
        let first = place.board.with(|row| {
            let len = (*row.len as usize).min(BOARD_SITES);
            for i in 0..len {
                let before = if i < place.before.len { place.before.ticks[i] } else { 0 };
                shares.push(row.sites[i], row.ticks[i].wrapping_sub(before));
            }
            shares.push(0, row.others.wrapping_sub(place.before.others));
            hold_after(&row, place.holds)
        });
        self.quit(place);
        let Some(first) = first else { return shares };
        let found = first.or(found.map(|(site, since)| (site, since.max(place.last))));
        if let Some((site, since)) = found {
            shares.deduct(site, place.begun.saturating_sub(since));
        }
        shares
    }

    /// A holder is about to leave: adds its hold to the boards of those who wait for the lock.
    #[cold]
    #[inline(never)]
    pub fn charge(&self, hold: &Hold) {
        for board in self.all(hold.addr).filter(|board| board.is_waited_at(hold.addr)) {
            board.with(|mut row| {
                if board.is_waited_at(hold.addr) {
                    add_to(&mut row, hold);
                }
            });
        }
    }
}

/// The fields of a board that its lock guards.
pub(crate) struct BoardSums<'a> {
    len: &'a mut u32,
    others: &'a mut u64,
    last: &'a mut u64,
    sites: &'a mut [u32; BOARD_SITES],
    ticks: &'a mut [u64; BOARD_SITES],
    holds: &'a mut u64,
    hold_since: &'a mut [u64; BOARD_HOLDS],
    hold_sites: &'a mut [u32; BOARD_HOLDS],
    left_at: &'a mut u64,
    left_tid: &'a mut u32,
    left_site: &'a mut u32,
}

shared_row::row!(
    Board,
    BoardSums {
        len,
        others,
        last,
        sites,
        ticks,
        holds,
        hold_since,
        hold_sites,
        left_at,
        left_tid,
        left_site
    }
);

/// The list's link: the address of the next board.
///
/// # Safety
/// `board` is a mapped row, and stays mapped until the process ends.
unsafe fn link(board: *mut Board) -> &'static AtomicPtr<Board> {
    // SAFETY: boards stay mapped; `next_at` is 8-aligned and only accessed atomically.
    unsafe { AtomicPtr::from_ptr((&raw mut (*board).next_at).cast()) }
}

fn add_to(row: &mut BoardSums<'_>, hold: &Hold) {
    // A hold counts from when the first waiter came, and if its beginning is not known, from when
    // the last holder left.
    let since = hold.since.max(*row.last);
    let ticks = hold.now.saturating_sub(since);
    if !hold.shared {
        *row.last = hold.now.max(*row.last);
        let i = *row.holds as usize % BOARD_HOLDS;
        (row.hold_since[i], row.hold_sites[i]) = (since, hold.site);
        *row.holds = row.holds.wrapping_add(1);
    }
    (*row.left_at, *row.left_tid, *row.left_site) = (hold.now, hold.tid, hold.site);
    let len = *row.len as usize;
    match row.sites[..len].iter().position(|&site| site == hold.site) {
        Some(i) => row.ticks[i] += ticks,
        None if len < BOARD_SITES => {
            (row.sites[len], row.ticks[len]) = (hold.site, ticks);
            *row.len += 1;
        }
        None => *row.others += ticks,
    }
}

/// Site and beginning of the exclusive hold that ended after `holds` others, if it has ended and is
/// not forgotten yet.
fn hold_after(row: &BoardSums<'_>, holds: u64) -> Option<(u32, u64)> {
    let i = holds as usize % BOARD_HOLDS;
    let is_there = (1..=BOARD_HOLDS as u64).contains(&row.holds.wrapping_sub(holds));
    // A site without a row of its own has no sum to correct.
    is_there.then(|| (row.hold_sites[i], row.hold_since[i]))
}

/// A waiter's place at a board that it has come to just now.
fn place(board: SharedRow<Board>, row: &BoardSums<'_>, addr: u64, now: u64) -> Place {
    let (before, holds) = (sums(row), *row.holds);
    Place { board, addr, begun: now, before, holds, last: *row.last }
}

fn sums(row: &BoardSums<'_>) -> Sums {
    let len = (*row.len as usize).min(BOARD_SITES);
    let mut sums =
        Sums { len, sites: [0; BOARD_SITES], ticks: [0; BOARD_SITES], others: *row.others };
    sums.sites[..len].copy_from_slice(&row.sites[..len]);
    sums.ticks[..len].copy_from_slice(&row.ticks[..len]);
    sums
}
