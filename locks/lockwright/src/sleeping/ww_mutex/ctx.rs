//! Which context may wait for which: acquire contexts, in the order of their stamps.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::Relaxed;

use crate::platform::{Atomic, Platform};
use crate::sleeper::{Sleeper, Wake};

/// The rule for the younger of two contexts, if one has a lock that the other waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// The younger never waits for the older: it has to give up what it has (it dies). For few
    /// contexts at a time; costs less as long as they seldom meet.
    WaitDie,
    /// The older wounds the younger, which has to give up what it has when it comes to wait the
    /// next time. Fewer have to begin again.
    WoundWait,
}

/// The locks that contexts may be used with together, and the order in which contexts begin.
pub struct Class<P: Platform> {
    /// The last stamp given.
    stamp: P::Long,
    algorithm: Algorithm,
}

impl<P: Platform> Class<P> {
    /// A class without locks yet.
    pub fn new_in(algorithm: Algorithm) -> Self {
        Self { stamp: P::Long::new(0), algorithm }
    }
}

#[cfg(feature = "std")]
impl Class<crate::platform::linux::Linux> {
    /// A class without locks yet; for statics.
    pub const fn new(algorithm: Algorithm) -> Self {
        Self { stamp: core::sync::atomic::AtomicUsize::new(0), algorithm }
    }
}

/// An acquire context: what one thread takes several locks of a class by, in any order. It keeps
/// its stamp when it begins again, and so is the oldest some day.
///
/// While it has a lock, others may reach it through that lock, under the lock's wait lock.
pub struct AcquireCtx<P: Platform> {
    stamp: usize,
    algorithm: Algorithm,
    /// How many locks are held by it. Only its thread changes it, and not while it waits.
    acquired: P::Word,
    /// 1 if an older context waits for a lock of this one. Wound-wait only.
    wounded: P::Word,
    /// The sleeper of its thread, whichever lock that waits for: a thread that wounds the context
    /// knows only a lock that it holds.
    pub(super) sleeper: Sleeper<P>,
    /// It is its thread's.
    not_send: PhantomData<*const ()>,
}

impl<P: Platform> AcquireCtx<P> {
    /// The youngest context of a class (`ww_acquire_init`).
    pub fn new(class: &Class<P>) -> Self {
        // Relaxed: only to be unique, and in the order of some clock.
        let stamp = class.stamp.fetch_add(1, Relaxed).wrapping_add(1);
        Self {
            stamp,
            algorithm: class.algorithm,
            acquired: P::Word::new(0),
            wounded: P::Word::new(0),
            sleeper: Sleeper::new(),
            not_send: PhantomData,
        }
    }

    /// How many locks are held by it.
    pub fn acquired(&self) -> u32 {
        // Relaxed: constant while others look at it, under the wait lock of what it waits for.
        self.acquired.load(Relaxed)
    }

    pub(super) fn is_wait_die(&self) -> bool {
        self.algorithm == Algorithm::WaitDie
    }

    /// Whether it began after `other`. Stamps wrap around.
    pub(super) fn is_younger_than(&self, other: &Self) -> bool {
        (self.stamp.wrapping_sub(other.stamp) as isize) > 0
    }

    /// Forgets the wound of an earlier attempt: without a lock it is known to nobody.
    pub(super) fn begin(&self) {
        if self.acquired() == 0 {
            // Relaxed: nobody else looks.
            self.wounded.store(0, Relaxed);
        }
    }

    pub(super) fn add(&self) {
        // Relaxed, here and below: as in `acquired`; no addition in one, as nobody else changes it.
        self.acquired.store(self.acquired() + 1, Relaxed);
    }

    pub(super) fn remove(&self) {
        self.acquired.store(self.acquired() - 1, Relaxed);
    }

    /// Tells it that an older context waits for it.
    ///
    /// # Safety
    /// It holds the lock whose wait lock the caller has.
    pub(super) unsafe fn wound(&self) -> Wake<P> {
        // Relaxed: telling releases it.
        self.wounded.store(1, Relaxed);
        // SAFETY: by contract the context holds a lock whose wait lock the caller has, so it cannot
        // end meanwhile.
        unsafe { Sleeper::tell(&raw const self.sleeper) }
    }

    pub(super) fn is_wounded(&self) -> bool {
        // Relaxed: asked after sleeping or arming, which acquires it.
        self.wounded.load(Relaxed) != 0
    }
}

impl<P: Platform> Drop for AcquireCtx<P> {
    fn drop(&mut self) {
        debug_assert_eq!(self.acquired(), 0, "an acquire context ends with locks held");
    }
}
