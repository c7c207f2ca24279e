//! A queue of waiters that prefers the holder's socket: CNA (D. Dice and A. Kogan, *Compact NUMA-aware Locks*,
//! EuroSys 2019), which the simulator compares with the family's locks.
//!
//! It is the MCS queue, with a second queue for waiters of other sockets that were passed over. Both hang on the
//! holder's node. The releaser looks for the first waiter of its own socket; the waiters before that one go to the
//! second queue. Once in 65,536 releases, and when no waiter is of the socket, the second queue goes before the rest of
//! the first.
//!
//! ```text
//!   holder - next -> waiter - next -> waiter <- tail
//!      |
//!    granted -> passed over - next -> passed over <- last
//! ```
//!
//! Here it serves to compare: by itself, and as the queue of a queued spinlock.

mod qspinlock;

use std::ptr;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use lockwright::platform::{Atomic, Platform, await_until};

use crate::rng::Rng;

pub use self::qspinlock::CnaQspinlock;

/// A platform that knows sockets.
pub trait Sockets: Platform {
    /// That of the CPU on which the calling thread runs.
    fn socket() -> u32;
}

/// No node: its address.
const NONE: usize = 0;
/// [`Node::granted`]: it waits.
const WAITS: usize = 0;
/// [`Node::granted`]: it has the lock, and nobody was passed over.
const ALONE: usize = 1;
/// So many releases prefer the socket, on average, for one that does not: the paper's.
const PREFERRED: u64 = 1 << 16;

/// A place in the queue.
#[repr(align(64))]
pub struct Node<P: Platform> {
    /// The address of the follower's.
    next: P::Long,
    /// [`WAITS`], [`ALONE`], or that it has the lock, and the first of those who were passed over.
    granted: P::Long,
    /// In the node of the first waiter that was passed over: the last such waiter.
    last: P::Long,
    /// The socket that it came from.
    socket: P::Word,
}

impl<P: Sockets> Node<P> {
    /// In no queue.
    pub fn new() -> Self {
        let [next, granted, last] = [NONE, WAITS, NONE].map(P::Long::new);
        Self { next, granted, last, socket: P::Word::new(0) }
    }

    fn address(&self) -> usize {
        ptr::from_ref(self).expose_provenance()
    }
}

/// A CNA lock with nodes of its callers. Not recursive.
pub struct Cna<P: Platform> {
    tail: P::Long,
    /// Decides whose turn it is. The holder's only; not of the machine, as each CPU would have its own.
    dice: AtomicU64,
}

impl<P: Sockets> Cna<P> {
    /// A free lock.
    pub fn new_in() -> Self {
        Self { tail: P::Long::new(NONE), dice: AtomicU64::new(0) }
    }

    /// Whether nobody has it, or waits for it, now.
    fn is_free(&self) -> bool {
        // Relaxed: it may be another's the next moment.
        self.tail.load(Relaxed) == NONE
    }

    /// Prepares a node that is in no queue.
    fn prepare(node: &Node<P>) {
        // Relaxed, all: what puts the node into the queue releases them.
        node.next.store(NONE, Relaxed);
        node.granted.store(WAITS, Relaxed);
        node.socket.store(P::socket(), Relaxed);
    }

    /// Waits for the lock and takes it.
    ///
    /// # Safety
    /// The node is in use for nothing else, and stays where it is until it has been unlocked.
    pub unsafe fn lock(&self, node: &Node<P>) {
        Self::prepare(node);
        let me = node.address();
        // Acquire: pairs with the Release of the last holder in `unlock`. Release: pairs with itself in our follower.
        let before = self.tail.swap(me, AcqRel);
        if before == NONE {
            // Relaxed: our own until we release.
            node.granted.store(ALONE, Relaxed);
            return;
        }
        // SAFETY: the node is in the queue, and cannot go before it knows us. Release: pairs with
        // the Acquires of a thread that walks the queue.
        unsafe { at::<P>(before) }.next.store(me, Release);
        // Acquire: pairs with the Release in `grant`.
        await_until::<P>(|| node.granted.load(Acquire) != WAITS);
    }

    /// Takes the lock if it is free.
    ///
    /// # Safety
    /// As for [`Cna::lock`].
    pub unsafe fn try_lock(&self, node: &Node<P>) -> bool {
        Self::prepare(node);
        // Relaxed: as in `lock`.
        node.granted.store(ALONE, Relaxed);
        // AcqRel: as in `lock`.
        self.tail.compare_exchange(NONE, node.address(), AcqRel, Relaxed).is_ok()
    }

    /// Passes the lock on.
    ///
    /// # Safety
    /// The caller holds it with this node.
    pub unsafe fn unlock(&self, node: &Node<P>) {
        // Relaxed: the thread that wrote it has granted us the lock with it.
        let passed_over = node.granted.load(Relaxed);
        // Acquire: pairs with the Release in `lock`, here and in `await_next`.
        let mut next = node.next.load(Acquire);
        if next == NONE {
            if self.ends(node, passed_over) {
                return;
            }
            next = Self::await_next(node);
        }
        if !self.is_others_turn() {
            // SAFETY: all in the queue stay until they have had the lock.
            if let Some((follower, passed_over)) = unsafe { Self::of_socket(node, next) } {
                // SAFETY: `follower` is a node of the queue, which stays until its thread has had
                // the lock.
                return unsafe { grant::<P>(follower, passed_over) };
            }
        }
        // SAFETY: `next` and those passed over are nodes of the queue, which stay until they have
        // had the lock.
        unsafe {
            if passed_over == ALONE {
                return grant::<P>(next, ALONE);
            }
            // Relaxed: as in `of_socket`, which wrote it. Release: pairs with the Acquires of a thread that walks the
            // queue.
            let last = at::<P>(passed_over).last.load(Relaxed);
            at::<P>(last).next.store(next, Release);
            grant::<P>(passed_over, ALONE);
        }
    }

    /// Nobody follows `node`: the lock becomes free, or goes to those who were passed over.
    fn ends(&self, node: &Node<P>, passed_over: usize) -> bool {
        let tail = match passed_over {
            ALONE => NONE,
            // SAFETY: all in the queue stay until they have had the lock. Relaxed: as in `unlock`.
            first => unsafe { at::<P>(first) }.last.load(Relaxed),
        };
        // AcqRel: as in `lock`.
        if self.tail.compare_exchange(node.address(), tail, AcqRel, Relaxed).is_err() {
            return false;
        }
        if passed_over != ALONE {
            // SAFETY: `passed_over` is a node of the queue, which stays until its thread has had
            // the lock.
            unsafe { grant::<P>(passed_over, ALONE) };
        }
        true
    }

    /// Whether a release is to prefer nobody.
    fn is_others_turn(&self) -> bool {
        // Relaxed, both: the holder's.
        let seed = self.dice.load(Relaxed);
        let mut dice = Rng::new(seed);
        self.dice.store(dice.next(), Relaxed);
        dice.one_in(PREFERRED)
    }

    /// The first waiter of the holder's socket, and the first of all who were passed over, with those who stand before it.
    ///
    /// # Safety
    /// `next` follows `node`, whose owner has the lock.
    unsafe fn of_socket(node: &Node<P>, next: usize) -> Option<(usize, usize)> {
        // Relaxed, all sockets: the node's link was seen, which releases it.
        let own = node.socket.load(Relaxed);
        let (mut follower, mut before) = (next, NONE);
        // SAFETY: they are in the queue, and stay.
        unsafe {
            while at::<P>(follower).socket.load(Relaxed) != own {
                before = follower;
                // Acquire: pairs with the Release in `lock`.
                follower = at::<P>(follower).next.load(Acquire);
                if follower == NONE {
                    return None;
                }
            }
            // Relaxed, here and below: the second queue is the holder's, and goes with the lock.
            let mut passed_over = node.granted.load(Relaxed);
            if before != NONE {
                at::<P>(before).next.store(NONE, Relaxed);
                if passed_over == ALONE {
                    passed_over = next;
                } else {
                    let last = at::<P>(passed_over).last.load(Relaxed);
                    at::<P>(last).next.store(next, Relaxed);
                }
                at::<P>(passed_over).last.store(before, Relaxed);
            }
            Some((follower, passed_over))
        }
    }

    /// Waits for the follower in the queue to link itself.
    fn await_next(node: &Node<P>) -> usize {
        let mut next = NONE;
        await_until::<P>(|| {
            next = node.next.load(Acquire);
            next != NONE
        });
        next
    }
}

/// The node at an address.
///
/// # Safety
/// One is there, as long as the reference is used.
unsafe fn at<'n, P: Platform>(address: usize) -> &'n Node<P> {
    // SAFETY: by contract a node is there as long as the reference is used, and its address was
    // exposed.
    unsafe { &*ptr::with_exposed_provenance::<Node<P>>(address) }
}

/// The lock is that node's, with those who were passed over.
///
/// # Safety
/// It waits for it.
unsafe fn grant<P: Platform>(address: usize, passed_over: usize) {
    // SAFETY: by contract the node's thread waits, so the node is there. Release: pairs with the
    // Acquire in `lock`.
    unsafe { at::<P>(address) }.granted.store(passed_over, Release);
}
