//! A wait that is over but not recorded yet: it is recorded once the lock is released again.

use core::sync::atomic::Ordering::Relaxed;

use super::cell::CellRef;
use super::contention::Contention;
use super::shares::Shares;
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
