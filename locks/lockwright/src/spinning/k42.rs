//! The MCS lock without nodes of its callers, after the variant of the K42 kernel (M. L. Scott,
//! *Shared-Memory Synchronization*, 2013, chapter 4): the new owner moves the little that is left
//! of its node into the lock. So a node lives on the stack of `lock`, and only while its thread
//! waits.
//!
//! ```text
//!   tail  0 free, 1 held and nobody waits, or the address of the last waiter's node
//!   next  0, or the address of the first waiter's node
//!
//!         lock - next -> waiter - next -> waiter <- tail
//! ```
//!
//! Invariant: `next` is 0 whenever the lock passes from one to another.
//!
//! It differs from the original in two ways. A waiter enters the queue by one unconditional
//! exchange. The lock's own place at the end of its queue is written as 1, not as its address.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::platform::{Atomic, Platform, await_until};

const FREE: usize = 0;
const ALONE: usize = 1;

/// No node: its address.
const NONE: usize = 0;

/// A waiter.
struct Node<P: Platform> {
    next: P::Long,
    locked: P::Word,
}

/// An MCS lock without nodes of its callers. Not recursive.
///
/// # Rules
/// - A thread must not end while it holds the lock: nobody else may release it, and the waiters
///   wait for ever.
/// - The child of a fork must not take a lock that another thread held at the fork: it would spin
///   for ever.
/// - The holder must not sleep, do I/O or take a sleeping lock: the waiters spin meanwhile.
///
/// # Guarantees
/// - Ordering: the next holder sees all that a holder did before it released the lock.
/// - Fairness: first come, first served.
/// - Source: the K42 variant of the MCS lock; see [`crate::mcs`].
pub struct RawMcs<P: Platform> {
    tail: P::Long,
    next: P::Long,
}

impl<P: Platform> RawMcs<P> {
    /// A free lock.
    pub fn new_in() -> Self {
        Self { tail: P::Long::new(FREE), next: P::Long::new(NONE) }
    }

    /// Waits for the lock and takes it.
    ///
    /// - The caller must not hold the lock already: it would spin for ever.
    ///   [`RawDebug`](crate::debug::RawDebug) returns `Recursion` instead.
    /// - A signal handler may call this only if every other user takes the lock with signals
    ///   blocked (`lock_irqsave`). Otherwise it spins for ever if it has interrupted the holder.
    #[inline]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_slow();
        }
    }

    /// Takes the lock if it is free.
    ///
    /// - Any thread and any signal handler may call this: it does not wait for the holder. The
    ///   holder gets `false`.
    #[inline]
    pub fn try_lock(&self) -> bool {
        // Acquire: pairs with the Release in `unlock`.
        self.tail.compare_exchange(FREE, ALONE, Acquire, Relaxed).is_ok()
    }

    #[cold]
    fn lock_slow(&self) {
        let node = Node::<P> { next: P::Long::new(NONE), locked: P::Word::new(0) };
        let me = (&raw const node).expose_provenance();
        // Acquire: pairs with the Release in `unlock` if the lock is free; otherwise it pairs with
        // the Releases of the thread before us, here and below. So our store to its `next` comes
        // after its own store there.
        let prev = self.tail.swap(me, AcqRel);
        if prev != FREE {
            let before = core::ptr::with_exposed_provenance::<Node<P>>(prev);
            let link = if prev == ALONE {
                &self.next
            } else {
                // SAFETY: a waiter in the queue, which cannot go before it knows us.
                unsafe { &(*before).next }
            };
            // Release: pairs with the Acquires in `unlock` and below: a thread that reads this link
            // finds our node ready.
            link.store(me, Release);
            // Acquire: pairs with the Release in `unlock`.
            await_until::<P>(|| node.locked.load(Acquire) != 0);
        }
        // The lock is ours; the node has to go from the queue. Relaxed: a look. Release: pairs with
        // the Acquire above, in the next thread, which stores to the lock's `next`.
        if node.next.load(Relaxed) == NONE
            && self.tail.compare_exchange(me, ALONE, Release, Relaxed).is_ok()
        {
            return;
        }
        // Relaxed: only we read it, in `unlock`.
        self.next.store(await_some::<P>(&node.next), Relaxed);
    }

    /// Passes the lock on to the first waiter.
    ///
    /// - The thread that took the lock must release it, once. After any other call two threads can
    ///   be inside at once. [`RawDebug`](crate::debug::RawDebug) returns `AlreadyUnlocked` or
    ///   `WrongOwner` instead.
    ///
    /// # Safety
    /// The caller holds it.
    #[inline]
    pub unsafe fn unlock(&self) {
        // Relaxed: a look. Release: pairs with the Acquires in `try_lock` and `lock_slow`.
        if self.next.load(Relaxed) == NONE
            && self.tail.compare_exchange(ALONE, FREE, Release, Relaxed).is_ok()
        {
            return;
        }
        self.pass_on();
    }

    #[cold]
    fn pass_on(&self) {
        let next = core::ptr::with_exposed_provenance::<Node<P>>(await_some::<P>(&self.next));
        // Relaxed: released with the lock.
        self.next.store(NONE, Relaxed);
        // SAFETY: it waits until this store, and the reference ends with the store. Release: pairs
        // with the Acquire in `lock_slow`.
        unsafe { &*next }.locked.store(1, Release);
    }

    /// Whether anyone holds it now.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    pub fn is_locked(&self) -> bool {
        // Relaxed: tells nothing of what the holder has done.
        self.tail.load(Relaxed) != FREE
    }
}

/// Waits for a follower in the queue to link itself here.
fn await_some<P: Platform>(link: &P::Long) -> usize {
    let mut next = NONE;
    await_until::<P>(|| {
        // Acquire: pairs with the Release in `lock_slow`.
        next = link.load(Acquire);
        next != NONE
    });
    next
}

#[cfg(feature = "std")]
impl RawMcs<crate::platform::linux::Linux> {
    /// A free lock, for statics.
    pub const fn new() -> Self {
        use core::sync::atomic::AtomicUsize;
        Self { tail: AtomicUsize::new(FREE), next: AtomicUsize::new(NONE) }
    }
}

#[cfg(feature = "std")]
impl Default for RawMcs<crate::platform::linux::Linux> {
    fn default() -> Self {
        Self::new()
    }
}
