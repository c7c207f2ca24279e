//! Trylocks that are but the first step of a lock: `if (sem_trywait(s)) sem_wait(s)`. As long as
//! such a call site gets its semaphore at once it looks as if it could never block, and no order
//! would ever be seen. So what follows where it fails is remembered of the site, and its
//! acquisitions are taken for what it does then. (CPython takes every lock in this way.)

use core::sync::atomic::Ordering::Relaxed;

use lockwright_engines::lockdep::{Acquire, Ident, ThreadState, Tried};
use lockwright_ledger::rows::{event, mode};

use crate::lock_id::side_table::SideTable;
use crate::recorder::state;

/// By call site: what has followed a trylock that failed.
static SITES: SideTable = SideTable::new();

/// A wait for the same semaphore.
const WAITED: u64 = 1;
/// None.
const GAVE_UP: u64 = 2;

/// How a trylock at this site acquires what it gets.
pub fn mode_at(site: u64) -> u16 {
    match SITES.get(site) {
        Some(Ident(WAITED)) => 0,
        // It waits, but it need not.
        Some(Ident(both)) if both & WAITED != 0 => mode::TIMED,
        _ => mode::TRY,
    }
}

/// Forgets the sites in `[from, to)`: other code may come to lie there. The caller has the core's lock.
pub fn forget(from: u64, to: u64) {
    SITES.remove_range(from, to);
}

/// A trylock has failed, and nothing has followed that yet.
#[inline(always)]
pub fn is_pending(thread: &ThreadState) -> bool {
    thread.has_tried()
}

/// A trylock of a semaphore has failed.
pub fn failed(thread: &mut ThreadState, addr: u64, is_own: bool, site: u64) {
    thread.did(event::FAILED_TRY);
    if let Some(before) = thread.try_failed(addr, is_own, site) {
        gave_up(&before);
    }
}

/// The thread is about to wait.
#[cold]
pub fn waits(thread: &mut ThreadState, lock: &Acquire) {
    match thread.tried_before_wait() {
        Some(tried) if tried.addr != lock.addr => gave_up(&tried),
        // Some forms of a lock wait for good, others not: which this site's caller wants varies.
        Some(tried) if lock.mode & mode::TIMED == 0 => learn(tried.site, WAITED),
        _ => {}
    }
}

fn gave_up(tried: &Tried) {
    // Whether one holds it oneself can be asked so, too.
    if !tried.is_own {
        learn(tried.site, GAVE_UP);
    }
}

fn learn(site: u64, what: u64) {
    // Relaxed: says nothing about other memory.
    let known = SITES.word(site).map_or(0, |word| word.load(Relaxed));
    if known & what == 0 {
        state::with_core(|_| SITES.insert(site, Ident(known | what)));
    }
}
