//! Waits and wakes at futexes that the program makes by `syscall`: what both engines want to know
//! of them.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use lockwright_engines::Shared;
use lockwright_engines::wakes::{Place, Waiter, Wakes};
use lockwright_ledger::layout::MAX_FRAMES;
use lockwright_ledger::rows::Wake;
use lockwright_ledger::site;

use crate::recorder::state;
use crate::stack::{modules, unwind};

/// There is something in [`WAKES`] or [`ROWS`], or about to be.
static IS_USED: AtomicBool = AtomicBool::new(false);

/// The words at which threads wait.
static WAKES: Wakes = Wakes::new();

/// Innermost frames that tell one call site from another: behind `syscall` come up to ten of a
/// library's own before the program's.
const TOLD_APART: usize = 16;

/// A wait that begins.
#[derive(Clone, Copy)]
pub struct Wait {
    /// One of [`lockwright_ledger::rows::meter::futex_call`].
    pub call: u32,
    /// Address of the word.
    pub addr: u64,
    /// What it is, by the call's own argument or as it was read.
    pub word: u32,
    /// The call ends by itself.
    pub is_timed: bool,
    /// Where the call returns to.
    pub site: u64,
}

/// The calling thread's stack, from the call of `syscall` on.
pub struct Stack {
    frames: [u64; MAX_FRAMES],
    len: usize,
}

impl Stack {
    /// As it is now.
    pub fn capture() -> Self {
        let mut frames = [0; MAX_FRAMES];
        let len = unwind::capture(&mut frames);
        Self { frames, len }
    }

    /// The return addresses, innermost first.
    pub fn frames(&self) -> &[u64] {
        &self.frames[..self.len]
    }

    /// As much of it as there is room for; tells how many addresses that is.
    pub fn copy_to(&self, frames: &mut [u64]) -> usize {
        let len = self.len.min(frames.len());
        frames[..len].copy_from_slice(&self.frames[..len]);
        len
    }

    /// The call site, combined with `what`: a site past possible wrappers, as none is known to be
    /// one.
    pub fn site(&self, what: u64) -> u64 {
        let frames = self.frames().iter().take(TOLD_APART);
        site::deep(0, frames.fold(what, |hash, &frame| site::extend(hash, frame)))
    }

    /// Its row in the ledger; 0 where there is none and no room.
    pub fn row(&self) -> u32 {
        let Some(header) = state::header() else { return 0 };
        let hash = self.frames().iter().fold(0, |hash, &frame| site::extend(hash, frame));
        // A module that has come or gone since may have changed what the addresses mean.
        let epoch = u64::from(header.epoch.load(Relaxed)) << 32;
        let [key, value] = &ROWS[(hash.wrapping_mul(site::MIX) >> 54) as usize];
        let known = value.load(Relaxed);
        if known != 0 && key.load(Relaxed) ^ known == hash && known & EPOCH == epoch {
            return known as u32;
        }
        let interned = state::with_core(|core| {
            if let Some(&first) = self.frames().first() {
                modules::cover(core, &[first]);
            }
            core.captured(&mut |frames| self.copy_to(frames))
        });
        let row = interned.unwrap_or(0);
        if row != 0 {
            IS_USED.store(true, Relaxed);
            let known = epoch | u64::from(row);
            value.store(known, Relaxed);
            key.store(hash ^ known, Relaxed);
        }
        row
    }
}

/// In a word of [`ROWS`]: the modules' epoch.
const EPOCH: u64 = !0 << 32;

/// Rows of stacks by their hash, direct-mapped. An entry is (hash ^ value, value), two relaxed words
/// that only agree if they were stored together.
static ROWS: [[AtomicU64; 2]; 1024] = [const { [const { AtomicU64::new(0) }; 2] }; 1024];

/// The calling thread is about to wait at `addr`.
pub fn enter(addr: u64) -> Option<Place> {
    let place = WAKES.enter(addr);
    if place.is_some() || !WAKES.has_room(addr) {
        return place;
    }
    state::with_core(|core| {
        let writer = core.writer();
        if let Some(id) = writer.push(Wake { addr, ..Wake::default() }) {
            IS_USED.store(true, Relaxed);
            // SAFETY: a fresh row, added with the core's lock held.
            unsafe { WAKES.add(addr, writer.row_ptr::<Wake>(id)) };
        }
    });
    WAKES.enter(addr)
}

/// The word at `addr`, if somebody waits there.
pub fn waited_for(addr: u64) -> Option<Waiter> {
    WAKES.waited_for(addr)
}

/// In a forked child: what there is is the parent's.
pub fn forked() {
    // Relaxed: a fork takes the memory as it is, so what another thread stored after this is not there without it. The
    // pages of the two are not even read where there is nothing: the kernel would have to map each.
    if !IS_USED.load(Relaxed) {
        return;
    }
    IS_USED.store(false, Relaxed);
    WAKES.forget();
    let used = ROWS.iter().flatten().filter(|word| word.load(Relaxed) != 0);
    used.for_each(|word| word.store(0, Relaxed));
}
