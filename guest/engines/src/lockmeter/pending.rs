//! A wait that is over but not recorded yet: it is recorded once the lock is released again.

use lockwright_ledger::rows::meter::BOARD_SITES;

use core::sync::atomic::Ordering::Relaxed;

use super::cell::CellRef;
use super::steps::Contention;
use crate::held::word;

/// Waits that one thread can keep until they are recorded; one more is recorded at once. There is
/// one more place, for the wait of the acquisition that is under way.
pub(super) const PENDING: usize = 7;

/// Waits under way in acquisitions that come in steps, one within the other, that one thread can
/// keep; one more is not timed.
pub(super) const CONTENTIONS: usize = 4;

/// A thread's memory for waits, which begins zeroed.
#[repr(C)]
pub(super) struct Waits {
    pub(super) pending: [Pending; PENDING + 1],
    pub(super) contentions: [Contention; CONTENTIONS],
}

impl Waits {
    /// Forgets all waits.
    ///
    /// # Safety
    /// `at` is null, or the memory of a thread that is gone.
    pub unsafe fn clear(at: *mut Self) {
        if at.is_null() {
            return;
        }
        // SAFETY: `at` is not null here, and by contract the thread that used this memory is gone.
        unsafe {
            for i in 0..=PENDING {
                (*at).pending[i].cell = None;
            }
            for i in 0..CONTENTIONS {
                (*at).contentions[i].addr = 0;
            }
        }
    }
}

/// The place of a wait in a thread's memory. Other threads look at when it ended.
#[derive(Clone, Copy)]
pub(super) struct PendingAt(pub *mut Pending);

impl PendingAt {
    /// No wait is kept here.
    ///
    /// # Safety
    /// A place of the calling thread's.
    pub unsafe fn is_free(self) -> bool {
        // SAFETY: by contract this is a place in the calling thread's own memory.
        unsafe { (*self.0).cell.is_none() }
    }

    /// When the wait ended, if one is kept here.
    ///
    /// # Safety
    /// A place in a thread's memory.
    pub unsafe fn ended(self) -> u64 {
        // SAFETY: by contract the place is in a thread's memory, which stays mapped. Relaxed: a
        // hint.
        unsafe { word(&raw const (*self.0).ended) }.load(Relaxed)
    }

    /// Keeps a wait here.
    ///
    /// # Safety
    /// A place of the calling thread's.
    pub unsafe fn store(self, wait: &Pending) {
        // SAFETY: by contract the place is in the calling thread's own memory. Relaxed: a hint.
        unsafe {
            let at = self.0;
            ((*at).cell, (*at).ticks, (*at).spun) = (wait.cell, wait.ticks, wait.spun);
            (*at).shares = wait.shares;
            word(&raw const (*at).ended).store(wait.ended, Relaxed);
        }
    }

    /// Takes the wait that is kept here, if there is one.
    ///
    /// # Safety
    /// A place of the calling thread's.
    pub unsafe fn take(self) -> Option<Pending> {
        // SAFETY: by contract the place is in the calling thread's own memory; all but `cell` is
        // written when that is.
        unsafe {
            let cell = (*self.0).cell.take()?;
            let (ticks, spun, shares) = ((*self.0).ticks, (*self.0).spun, (*self.0).shares);
            Some(Pending { cell: Some(cell), ended: self.ended(), ticks, spun, shares })
        }
    }
}

/// A wait for a lock.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Pending {
    /// Cell of the acquisition; `None` marks a free place.
    pub cell: Option<CellRef>,
    /// When it ended.
    pub ended: u64,
    /// The wait, ticks.
    pub ticks: u64,
    /// The part of it that was spent spinning.
    pub spun: u64,
    /// Whose holds it was for.
    pub shares: Shares,
}

/// Whose holds a wait was for.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Shares {
    pub(super) len: usize,
    pub(super) all: [Share; BOARD_SITES + 1],
}

/// One holder site's part of a wait. Site 0: nobody held the lock that we know of; the waiter was
/// being woken, or holders too many to tell apart had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Share {
    /// The site.
    pub site: u32,
    /// Its part.
    pub ticks: u64,
}

impl Shares {
    /// None known.
    pub const NONE: Self = Self { len: 0, all: [Share { site: 0, ticks: 0 }; BOARD_SITES + 1] };

    /// All of a wait is one site's part.
    pub fn of(site: u32, ticks: u64) -> Self {
        let mut shares = Self::NONE;
        shares.push(site, ticks);
        shares
    }

    pub(super) fn push(&mut self, site: u32, ticks: u64) {
        if ticks != 0
            && let Some(share) = self.all.get_mut(self.len)
        {
            *share = Share { site, ticks };
            self.len += 1;
        }
    }

    /// The parts.
    pub fn all(&self) -> &[Share] {
        &self.all[..self.len]
    }

    /// Takes off `site` what it had held before the wait began.
    pub fn deduct(&mut self, site: u32, ticks: u64) {
        if let Some(share) = self.all[..self.len].iter_mut().find(|share| share.site == site) {
            share.ticks = share.ticks.saturating_sub(ticks);
        }
    }

    /// Adds to the part of `site`.
    pub fn add(&mut self, site: u32, ticks: u64) {
        match self.all[..self.len].iter_mut().find(|share| share.site == site) {
            Some(share) => share.ticks += ticks,
            None => self.push(site, ticks),
        }
    }

    /// Makes the parts add up to `wait`: what is left is nobody's; where readers held the lock at
    /// the same time, each has its part of the time that they had it.
    pub fn settle(&mut self, wait: u64) {
        let sum: u64 = self.all[..self.len].iter().map(|share| share.ticks).sum();
        if sum > wait {
            for share in &mut self.all[..self.len] {
                share.ticks = (u128::from(share.ticks) * u128::from(wait) / u128::from(sum)) as u64;
            }
            return;
        }
        self.add(0, wait - sum);
    }
}
