//! A wait that is over but not recorded yet: it is recorded once the lock is released again.

use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::Relaxed;

use super::board::Place;
use super::cell::CellRef;
use super::conditions::CondWaiter;
use super::contention::{Contention, Waiting};
use super::off_cpu::SinceReading;
use super::ring::OwnEvents;
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
    pub(super) cond_waiter: CondWaiter,
    pub(super) own: Own,
}

/// The part of it that no other thread looks at.
#[repr(C)]
pub(super) struct Own {
    /// The condition waits that came before the pending ones.
    pub(super) woken: [Kept<Woken>; PENDING],
    pub(super) since_reading: SinceReading,
    pub(super) condition: Condition,
    pub(super) word: Kept<LastWord>,
    pub(super) events: OwnEvents,
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
            let own = &mut (*at).own;
            own.woken.iter_mut().for_each(|woken| _ = woken.take());
            _ = (own.condition.wait.take(), own.condition.last.take(), own.word.take());
            own.since_reading = SinceReading::default();
            // A waiter that is still in a list stays there, until the next thread here enters another.
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

    /// Forgets the wait that is kept here.
    ///
    /// # Safety
    /// A place of the calling thread's.
    pub unsafe fn clear(self) {
        // SAFETY: by contract this is a place in the calling thread's own memory.
        unsafe { (*self.0).cell = None };
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
            (*at).what = wait.what;
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
            let what = (*self.0).what;
            Some(Pending { cell: Some(cell), ended: self.ended(), ticks, spun, shares, what })
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
    /// What it was for.
    pub what: For,
}

/// What a wait was for, as the timeline has it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct For {
    /// Address of the lock, or of what else was waited for; 0 if there is none.
    pub addr: u64,
    /// Kernel id of the thread that held the lock at first, 0 if it is not known.
    pub holder: u32,
    /// Where that thread took it, 0 if it is not known.
    pub holder_site: u32,
    /// When another thread ended the wait, 0 if it is not known.
    pub when: u64,
    /// Kernel id of that thread.
    pub by: u32,
    /// [`lockwright_ledger::timeline::event_flag`] bits.
    pub flags: u16,
}

impl Pending {
    /// A wait of `cell` that ended at `ended`, after `ticks`.
    pub fn new(cell: CellRef, ended: u64, ticks: u64, shares: Shares) -> Self {
        Self { cell: Some(cell), ended, ticks, spun: 0, shares, what: For::default() }
    }
}

/// A condition wait, up to its signal.
#[derive(Clone, Copy, Debug)]
pub struct Woken {
    /// Cell of the wait.
    pub cell: CellRef,
    /// The wait, ticks.
    pub ticks: u64,
    /// Site of the signal, 0 if it is not known.
    pub by: u32,
    /// When it ended.
    pub ended: u64,
    /// What it was for.
    pub what: For,
}

/// What a thread knows of its last condition wait.
#[repr(C)]
pub struct Condition {
    /// The wait under way, if there is one: what is to be done when it is over.
    pub wait: Kept<CondWait>,
    /// The wait that is over.
    pub last: Kept<LastWait>,
}

/// Something in memory that begins zeroed.
#[repr(C)]
pub struct Kept<T> {
    is_there: bool,
    value: MaybeUninit<T>,
}

impl<T: Copy> Kept<T> {
    /// Keeps `value`.
    pub fn put(&mut self, value: T) {
        self.value = MaybeUninit::new(value);
        self.is_there = true;
    }

    /// Takes what is kept.
    pub fn take(&mut self) -> Option<T> {
        // SAFETY: `put` has written it.
        core::mem::take(&mut self.is_there).then(|| unsafe { self.value.assume_init() })
    }
}

/// A wait at a futex that a call ended.
#[derive(Clone, Copy, Debug)]
pub struct LastWord {
    /// Cell of the wait.
    pub cell: CellRef,
    /// Address of the word.
    pub addr: u64,
    /// What the word was when the wait began.
    pub word: u32,
    /// When it returned.
    pub ended: u64,
    /// Site of the call.
    pub by: u32,
}

/// A condition wait under way.
#[derive(Clone, Copy, Debug)]
pub struct CondWait {
    /// Cell of the wait.
    pub cell: CellRef,
    /// Cell of the acquisition that takes the mutex back, if there is room for it.
    pub again: Option<CellRef>,
    /// Address of the mutex.
    pub mutex: u64,
    /// When it began.
    pub begun: u64,
    /// The wait is in the list of waiters.
    pub is_listed: bool,
    /// A place at the mutex's board from the begin of the wait.
    pub place: Option<Place>,
    /// The wait that it interrupted.
    pub outer: Waiting,
}

/// A condition wait that a signal ended.
#[derive(Clone, Copy, Debug)]
pub struct LastWait {
    /// Cell of the wait.
    pub cell: CellRef,
    /// Cell of the acquisition that took the mutex back.
    pub again: CellRef,
    /// Address of the condition variable.
    pub cond: u64,
    /// When it returned.
    pub ended: u64,
    /// Site of the signal.
    pub by: u32,
}

// Two pages of the ledger for each thread that waits.
const _: () = assert!(size_of::<Waits>() <= 2 * lockwright_ledger::layout::PAGE);
