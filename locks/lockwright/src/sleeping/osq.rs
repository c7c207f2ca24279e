//! The optimistic spin queue (`kernel/locking/osq_lock.c`): a thread queues here before it spins on
//! the owner of a sleeping lock. So one thread spins on the lock, and each other thread on a word
//! of its own.
//!
//! An MCS lock that a spinner can leave, when it should let other threads run. After that it may
//! sleep.
//!
//! ```text
//!   tail  0 free, or the last in the queue: the number of its CPU, plus 1
//!
//!         .- prev - .     .- prev - .
//!         v          \    v          \
//!       holder - next -> waiter - next -> waiter
//! ```
//!
//! A CPU has one node for all queues: it spins in one at a time. Without a number, or in the
//! handler of a signal that came while its thread was in a queue, there is none; the latter the
//! caller must rule out.

mod node;

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

pub(crate) use node::Node;

use crate::platform::{Atomic, Platform, await_until};
use node::NOBODY;

/// An optimistic spin queue. Not recursive, and a thread is in one at a time.
#[repr(transparent)]
pub struct RawOsq<P: Platform, T = <P as Platform>::Word> {
    tail: T,
    platform: PhantomData<P>,
}

impl<P: Platform, T: Atomic<u32>> RawOsq<P, T> {
    /// A free one.
    pub fn new_in() -> Self {
        Self { tail: T::new(NOBODY), platform: PhantomData }
    }

    /// Waits for the lock as long as it makes sense to spin. False: it does not, and the caller
    /// should sleep.
    #[inline]
    pub fn lock(&self) -> bool {
        let Some(cpu) = P::cpu() else { return false };
        let me = cpu + 1;
        let node = Self::node(me);
        // Relaxed: the exchange releases both.
        node.locked.store(0, Relaxed);
        node.next.store(NOBODY, Relaxed);
        // Acquire: pairs with the Release in `take_next`: with the last holder's if the queue is
        // empty, or else with that of the thread that left from behind `prev`, so that our store to
        // its `next` comes after theirs. Release: pairs with itself, so that `prev` has its node
        // ready before we store to it.
        let prev = self.tail.swap(me, AcqRel);
        prev == NOBODY || self.wait(me, prev)
    }

    /// Waits behind `prev`.
    #[cold]
    fn wait(&self, me: u32, prev: u32) -> bool {
        let node = Self::node(me);
        // Relaxed: the next store releases it.
        node.prev.store(prev, Relaxed);
        // Release: pairs with the Acquire in `take_next`: our predecessor takes us when it passes
        // the lock on or leaves, and changes our node only after we have initialised it.
        Self::node(prev).next.store(me, Release);
        let mut rounds = 0;
        loop {
            // Acquire: pairs with the Release in `unlock`.
            if node.locked.load(Acquire) != 0 {
                return true;
            }
            if P::need_resched(rounds) {
                return !self.leave(me);
            }
            rounds += 1;
            P::relax();
        }
    }

    /// Leaves the queue from its midst or end, in three steps. False: the lock came first.
    ///
    /// ```text
    ///         prev                       me                           next
    ///
    ///                    A  prev.next = NOBODY: prev can neither
    ///                       pass the lock on to me nor leave
    ///                    B  tail = prev, if I am the last; or else
    ///                       me.next = NOBODY: next cannot leave
    ///                    C  next.prev = prev, prev.next = next
    ///   may pass it on                                            may leave
    /// ```
    ///
    /// Two neighbours that leave at once: the first to do A holds the other one up, in A behind it,
    /// or in B before it. The one behind finds its new predecessor in its node after C.
    fn leave(&self, me: u32) -> bool {
        let node = Self::node(me);
        let mut prev = NOBODY;
        let mut locked = false;
        // A
        await_until::<P>(|| {
            // Relaxed: one that has left has no `next` that is us.
            prev = node.prev.load(Relaxed);
            let next = &Self::node(prev).next;
            // Relaxed: what we store there later is ordered by being the same place; what others do
            // is by B.
            if next.load(Relaxed) == me
                && next.compare_exchange(me, NOBODY, Relaxed, Relaxed).is_ok()
            {
                return true;
            }
            // Acquire: pairs with the Release in `unlock`.
            locked = node.locked.load(Acquire) != 0;
            locked
        });
        if locked {
            return false;
        }
        // B
        if let Some(next) = self.take_next(me, prev) {
            // C
            // Relaxed: the next store releases it.
            Self::node(next).prev.store(prev, Relaxed);
            // Release: as in `wait`.
            Self::node(prev).next.store(next, Release);
        }
        true
    }

    /// Passes the lock on to the next in the queue.
    ///
    /// # Safety
    /// The caller holds it.
    #[inline]
    pub unsafe fn unlock(&self) {
        // The holder has a number, or it would not have got the lock.
        let Some(cpu) = P::cpu() else { return };
        if let Some(next) = self.take_next(cpu + 1, NOBODY) {
            // Release: pairs with the Acquires in `wait` and `leave`.
            Self::node(next).locked.store(1, Release);
        }
    }

    /// Takes the follower out of its own hands; or, if there is none, makes `before` the end of the
    /// queue.
    #[inline]
    fn take_next(&self, me: u32, before: u32) -> Option<u32> {
        let node = Self::node(me);
        let mut taken = None;
        await_until::<P>(|| {
            // Relaxed: a look. Release: pairs with the Acquire in `lock`.
            if self.tail.load(Relaxed) == me
                && self.tail.compare_exchange(me, before, Release, Relaxed).is_ok()
            {
                return true;
            }
            // The follower is linking itself, or leaving, as long as there is none.
            // Relaxed: a look. Acquire: pairs with the Releases in `wait` and `leave`.
            let next = node.next.load(Relaxed);
            if next != NOBODY && node.next.compare_exchange(next, NOBODY, Acquire, Relaxed).is_ok()
            {
                taken = Some(next);
            }
            taken.is_some()
        });
        taken
    }

    /// Whether anyone holds it now, or waits for it.
    #[inline]
    pub fn is_locked(&self) -> bool {
        // Relaxed: tells nothing of what the holder has done.
        self.tail.load(Relaxed) != NOBODY
    }

    /// The node of the thread that `code` stands for.
    #[inline]
    fn node(code: u32) -> &'static Node<P::Word> {
        &P::per_cpu(code - 1).osq
    }
}

#[cfg(feature = "std")]
impl RawOsq<crate::platform::linux::Linux> {
    /// A free one, for statics.
    pub const fn new() -> Self {
        Self { tail: core::sync::atomic::AtomicU32::new(NOBODY), platform: PhantomData }
    }
}

#[cfg(feature = "std")]
impl Default for RawOsq<crate::platform::linux::Linux> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::thread;

    use super::*;

    /// Spinners leave as fast as they come, among holders that hold for longer than anyone spins.
    #[test]
    fn the_queue_survives_those_who_leave() {
        static QUEUE: RawOsq<crate::platform::linux::Linux> = RawOsq::new();
        static INSIDE: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 0..500 {
                        if !QUEUE.lock() {
                            continue;
                        }
                        assert_eq!(INSIDE.fetch_add(1, Relaxed), 0);
                        if round % 16 == 0 {
                            thread::yield_now();
                        }
                        INSIDE.fetch_sub(1, Relaxed);
                        // SAFETY: this thread took `QUEUE` with `lock` above and still holds it.
                        unsafe { QUEUE.unlock() };
                    }
                });
            }
        });
        assert!(!QUEUE.is_locked());
    }
}
