//! The MCS lock (J. M. Mellor-Crummey and M. L. Scott, *Algorithms for Scalable Synchronization on
//! Shared-Memory Multiprocessors*, ACM TOCS 9(1), 1991; `kernel/locking/mcs_spinlock.h`): first
//! come, first served, and each waiter spins on a word of its own.
//!
//! The caller brings the node. [`RawMcs`] is the same queue for callers that have no place for one.
//!
//! ```text
//!   tail  0 free, or the address of the last one's node
//!
//!         holder - next -> waiter - next -> waiter <- tail
//! ```
//!
//! With more threads than CPUs the next in the queue may not be running, and all wait for it, as in
//! any fair lock.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

pub use crate::k42::RawMcs;
use crate::platform::{Atomic, Platform, await_until};

/// No node: its address.
const NONE: usize = 0;

/// A place in the queue.
pub struct Node<P: Platform> {
    /// The address of the follower's.
    next: P::Long,
    /// 1 once the lock has been passed on to it.
    locked: P::Word,
}

impl<P: Platform> Node<P> {
    /// In no queue.
    pub fn new() -> Self {
        Self { next: P::Long::new(NONE), locked: P::Word::new(0) }
    }
}

impl<P: Platform> Default for Node<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// An MCS lock with nodes of its callers. Not recursive.
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
/// - Source: Mellor-Crummey and Scott, 1991; `kernel/locking/mcs_spinlock.h`.
pub struct Mcs<P: Platform> {
    tail: P::Long,
}

impl<P: Platform> Mcs<P> {
    /// A free lock.
    pub fn new_in() -> Self {
        Self { tail: P::Long::new(NONE) }
    }

    /// Waits for the lock and takes it.
    ///
    /// - The caller must not hold the lock already: it would spin for ever.
    /// - A signal handler may call this only if every other user takes the lock with signals
    ///   blocked (`lock_irqsave`). Otherwise it spins for ever if it has interrupted the holder.
    /// - A thread that holds several such locks must bring a node for each.
    ///
    /// # Safety
    /// The node is in use for nothing else, and stays where it is until it has been unlocked.
    #[inline]
    pub unsafe fn lock(&self, node: &Node<P>) {
        // Relaxed: the exchange releases both.
        node.next.store(NONE, Relaxed);
        node.locked.store(0, Relaxed);
        let me = core::ptr::from_ref(node).expose_provenance();
        // Acquire: if the lock is free, pairs with the Release of its last holder in `unlock`.
        // Release: pairs with itself in our follower, so that our node is ready before the follower
        // links itself to it.
        let prev = self.tail.swap(me, AcqRel);
        if prev != NONE {
            // SAFETY: the address of a node in the queue, which its owner keeps until it has passed
            // the lock on to us.
            unsafe { Self::wait(node, me, prev) };
        }
    }

    /// # Safety
    /// `prev` is the exposed address of the node before `node` in the queue. Its owner keeps that
    /// node until it has passed the lock on to `node`.
    #[cold]
    unsafe fn wait(node: &Node<P>, me: usize, prev: usize) {
        // SAFETY: by contract the node at `prev` stays in the queue; it cannot go before it knows
        // us. Release: pairs with the Acquires in `unlock`, so that the thread that passes the lock
        // on finds our node ready.
        unsafe { &*core::ptr::with_exposed_provenance::<Node<P>>(prev) }.next.store(me, Release);
        // Acquire: pairs with the Release in `unlock`.
        await_until::<P>(|| node.locked.load(Acquire) != 0);
    }

    /// Takes the lock if it is free.
    ///
    /// - Any thread and any signal handler may call this: it does not wait. The holder gets
    ///   `false`.
    ///
    /// # Safety
    /// As for [`Mcs::lock`].
    #[inline]
    pub unsafe fn try_lock(&self, node: &Node<P>) -> bool {
        // Relaxed: the exchange releases both.
        node.next.store(NONE, Relaxed);
        node.locked.store(0, Relaxed);
        let me = core::ptr::from_ref(node).expose_provenance();
        // AcqRel: as in `lock`.
        self.tail.compare_exchange(NONE, me, AcqRel, Relaxed).is_ok()
    }

    /// Passes the lock on to the next in the queue.
    ///
    /// - The thread that took the lock must release it, once and with the same node. After any
    ///   other call the queue is broken, and waiters can spin for ever.
    /// - The caller may use or free the node afterwards. It must not free the lock while others
    ///   wait for it.
    ///
    /// # Safety
    /// The caller holds it with this node.
    #[inline]
    pub unsafe fn unlock(&self, node: &Node<P>) {
        // Acquire: pairs with the Release in `wait`.
        let mut next = node.next.load(Acquire);
        if next == NONE {
            let me = core::ptr::from_ref(node).expose_provenance();
            // Release: pairs with the Acquires in `lock` and `try_lock`.
            if self.tail.compare_exchange(me, NONE, Release, Relaxed).is_ok() {
                return;
            }
            next = Self::await_next(node);
        }
        let next = core::ptr::with_exposed_provenance::<Node<P>>(next);
        // SAFETY: the node lives until this store, and the reference ends with the store. Release:
        // pairs with the Acquire in `wait`.
        unsafe { &*next }.locked.store(1, Release);
    }

    /// Waits for the follower in the queue to link itself.
    #[cold]
    fn await_next(node: &Node<P>) -> usize {
        let mut next = NONE;
        await_until::<P>(|| {
            // Acquire: pairs with the Release in `wait`.
            next = node.next.load(Acquire);
            next != NONE
        });
        next
    }

    /// Whether anyone holds it now.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    pub fn is_locked(&self) -> bool {
        // Relaxed: tells nothing of what the holder has done.
        self.tail.load(Relaxed) != NONE
    }
}

#[cfg(feature = "std")]
impl Mcs<crate::platform::linux::Linux> {
    /// A free lock, for statics.
    pub const fn new() -> Self {
        Self { tail: core::sync::atomic::AtomicUsize::new(NONE) }
    }
}

#[cfg(feature = "std")]
impl Default for Mcs<crate::platform::linux::Linux> {
    fn default() -> Self {
        Self::new()
    }
}
