//! The queued spinlock (`kernel/locking/qspinlock.c`): an MCS lock in four bytes. First come, first
//! served, except that a newcomer may take it at the moment it is free.
//!
//! The second to come, the first to wait, sets a bit and spins on the word; only from the third on
//! they queue, in nodes of their CPUs (`qnode.rs`), and of these only the head spins on the word.
//!
//! ```text
//!   word  bits  0-7   1 locked
//!         bit   8     pending: somebody waits at the word, ahead of the queue
//!         bits 16-31  the tail of the queue
//!
//!   (tail, pending, locked)
//!
//!              fast      pending                                        unlock
//!   (0,0,0) -> (0,0,1) -> (0,1,1) -> (0,1,0) -> (0,0,1)               -> (0,0,0)
//!                            |          (hand-over)
//!   queue                    v
//!               (n,x,y) -> (n,0,0) -> (n,0,1)  others behind the head
//!                             |
//!                             v
//!                          (0,0,1)             the head is the last
//! ```
//!
//! A thread that finds the hand-over from pending to locked under way waits for its end, for a
//! bounded time, before it queues.
//!
//! With one byte of its own for the pending bit the kernel stores it alone; here, as in kernels for
//! 16 thousand CPUs and more, it is changed by atomic operations on the word. Unlike the kernel's,
//! waiters that have spun for long give their CPU away: the holder may be waiting for it.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::event::Event;
use crate::platform::{Atomic, Platform, Word, await_until};
use crate::qnode::{self, Node, Place};

pub(crate) const LOCKED: u32 = 1;
pub(crate) const LOCKED_MASK: u32 = 0xff;
pub(crate) const PENDING: u32 = 1 << 8;
pub(crate) const TAIL_MASK: u32 = 0xffff << 16;

/// Nobody holds it, and nobody waits ahead of the queue.
pub(crate) const fn is_open(word: u32) -> bool {
    word & (LOCKED_MASK | PENDING) == 0
}

/// Somebody waits.
const fn is_contended(word: u32) -> bool {
    word & !LOCKED_MASK != 0
}

/// A queued spinlock. Not recursive.
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
/// - Fairness: first come, first served. The thread behind the holder waits at the word itself,
///   ahead of the queue; a thread without a node, as five nested waits have, spins without a place.
/// - Source: `kernel/locking/qspinlock.c`.
pub struct RawQspinlock<P: Platform> {
    word: P::Word,
}

impl<P: Platform> RawQspinlock<P> {
    /// A free lock.
    pub fn new_in() -> Self {
        Self { word: P::Word::new(0) }
    }

    /// Waits for the lock and takes it.
    ///
    /// - The caller must not hold the lock already: it would spin for ever.
    ///   [`RawDebug`](crate::debug::RawDebug) returns `Recursion` instead.
    /// - A signal handler may call this only if every other user takes the lock with signals
    ///   blocked (`lock_irqsave`). Otherwise it spins for ever if it has interrupted the holder.
    #[inline]
    pub fn lock(&self) {
        // Acquire: pairs with the Release in `unlock`.
        if let Err(seen) = self.word.compare_exchange(0, LOCKED, Acquire, Relaxed) {
            self.lock_slow(seen);
        }
    }

    /// Takes the lock if it is free and nobody waits.
    ///
    /// - Any thread and any signal handler may call this: it does not wait. The holder gets
    ///   `false`.
    #[inline]
    pub fn try_lock(&self) -> bool {
        <Native as Queue<P>>::try_lock(&self.word)
    }

    #[cold]
    fn lock_slow(&self, mut seen: u32) {
        let mut rounds = 0;
        // The pending one is about to have it: then we can be the next. It may have been preempted,
        // or another may follow it each time we look, hence the bound.
        while seen == PENDING && rounds < P::PENDING_LOOPS {
            P::relax();
            rounds += 1;
            // Relaxed: a look.
            seen = self.word.load(Relaxed);
        }
        if is_contended(seen) || !self.lock_pending() {
            P::count(Event::LockSlowpath, 1);
            lock_queued::<P, Native>(&self.word);
        }
    }

    /// Waits for the lock at the word. False: others wait already, who go first.
    fn lock_pending(&self) -> bool {
        // Acquire: if it is free, pairs with the Release in `unlock`.
        let seen = self.word.fetch_or(PENDING, Acquire);
        if is_contended(seen) {
            if seen & PENDING == 0 {
                // Relaxed: gives nothing to anybody.
                self.word.fetch_and(!PENDING, Relaxed);
            }
            return false;
        }
        if seen != 0 {
            // Acquire: pairs with the Release in `unlock`.
            await_until::<P>(|| self.word.load(Acquire) & LOCKED_MASK == 0);
        }
        // Relaxed: the lock is ours already, as nobody passes the pending one.
        self.word.fetch_sub(PENDING - LOCKED, Relaxed);
        P::count(Event::LockPending, 1);
        true
    }

    /// Releases the lock: one store.
    ///
    /// - The thread that took the lock must release it, once. After any other call two threads can
    ///   be inside at once. [`RawDebug`](crate::debug::RawDebug) returns `AlreadyUnlocked` or
    ///   `WrongOwner` instead.
    /// - The caller may free the lock afterwards, if no other thread holds it, waits for it or will
    ///   use it.
    ///
    /// # Safety
    /// The caller holds it.
    #[inline]
    pub unsafe fn unlock(&self) {
        // Release: pairs with the Acquires of all who take it.
        self.word.clear_byte(Release);
    }

    /// Whether anyone holds it now, or waits for it.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    #[inline]
    pub fn is_locked(&self) -> bool {
        // Relaxed: tells nothing of what the holder has done.
        self.word.load(Relaxed) != 0
    }

    /// Whether anyone waits for it.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    #[inline]
    pub fn is_contended(&self) -> bool {
        // Relaxed: as above.
        is_contended(self.word.load(Relaxed))
    }
}

/// The differences between native and paravirtual locks in the queue.
pub(crate) trait Queue<P: Platform> {
    /// Takes the lock ahead of the queue, if that is allowed now.
    fn try_lock(word: &P::Word) -> bool;
    /// Waits to be the head of the queue.
    fn await_head(node: &Node<P::Word>, prev: &Node<P::Word>);
    /// As the head, waits for the lock. Returns the word when it was free, or, with LOCKED in it,
    /// when it was taken for us.
    fn await_lock(word: &P::Word, place: &Place<P>) -> u32;
    /// Tells the next that it is the head now, which it may not notice by itself.
    fn kick(word: &P::Word, next: u32);
}

/// Waits for the lock in the queue.
pub(crate) fn lock_queued<P: Platform, Q: Queue<P>>(word: &P::Word) {
    let Some(place) = Place::<P>::claim() else {
        P::count(Event::LockNoNode, 1);
        await_until::<P>(|| Q::try_lock(word));
        return;
    };
    let node = place.node();
    // Relaxed: `append` releases them.
    node.locked.store(0, Relaxed);
    node.next.store(0, Relaxed);
    node.state.store(0, Relaxed);
    // It took us some time to get here.
    if Q::try_lock(word) {
        return;
    }
    let prev = append::<P>(word, place.tail);
    if prev != 0 {
        let prev = qnode::node::<P>(prev);
        // Release: pairs with the Acquire below, in the one before us.
        prev.next.store(place.tail, Release);
        Q::await_head(node, prev);
    }
    let seen = Q::await_lock(word, &place);
    // Relaxed, both: the read that showed us the lock free or ours has the ordering.
    if seen & TAIL_MASK == place.tail
        && word.compare_exchange(seen, LOCKED, Relaxed, Relaxed).is_ok()
    {
        return;
    }
    word.fetch_or(LOCKED, Relaxed);
    let mut next = 0;
    await_until::<P>(|| {
        // Acquire: pairs with the Release above, so that we tell the node after it has been made.
        next = node.next.load(Acquire);
        next != 0
    });
    // Release: pairs with the Acquires in `await_head`: the new head sees the word as we have left
    // it, not as it was when it was free for us.
    qnode::node::<P>(next).locked.store(1, Release);
    Q::kick(word, next);
}

/// Makes a node the tail; returns the tail before it, or 0.
fn append<P: Platform>(word: &P::Word, tail: u32) -> u32 {
    // Relaxed: a look.
    let mut seen = word.load(Relaxed);
    loop {
        // Release: our node is ready before anyone stores to it. Acquire: pairs with it, in the
        // next waiter.
        match word.compare_exchange(seen, (seen & !TAIL_MASK) | tail, AcqRel, Relaxed) {
            Ok(_) => return seen & TAIL_MASK,
            Err(other) => seen = other,
        }
    }
}

/// The queue without a hypervisor.
struct Native;

impl<P: Platform> Queue<P> for Native {
    #[inline]
    fn try_lock(word: &P::Word) -> bool {
        // Relaxed: a look. Acquire: pairs with the Release in `unlock`.
        word.load(Relaxed) == 0 && word.compare_exchange(0, LOCKED, Acquire, Relaxed).is_ok()
    }

    fn await_head(node: &Node<P::Word>, _: &Node<P::Word>) {
        // Acquire: pairs with the Release in `lock_queued`.
        await_until::<P>(|| node.locked.load(Acquire) != 0);
    }

    fn await_lock(word: &P::Word, _: &Place<P>) -> u32 {
        let mut seen = 0;
        await_until::<P>(|| {
            // Acquire: pairs with the Release in `unlock`.
            seen = word.load(Acquire);
            is_open(seen)
        });
        seen
    }

    fn kick(_: &P::Word, _: u32) {}
}

#[cfg(feature = "std")]
impl RawQspinlock<crate::platform::linux::Linux> {
    /// A free lock, for statics.
    pub const fn new() -> Self {
        Self { word: core::sync::atomic::AtomicU32::new(0) }
    }
}

#[cfg(feature = "std")]
impl Default for RawQspinlock<crate::platform::linux::Linux> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use core::sync::atomic::AtomicU32;
    use std::thread;

    use super::*;
    use crate::platform::linux::Linux;

    impl RawQspinlock<Linux> {
        const fn at(word: u32) -> Self {
            Self { word: AtomicU32::new(word) }
        }

        fn word(&self) -> u32 {
            self.word.load(Relaxed)
        }

        fn await_word(&self, condition: impl Fn(u32) -> bool) {
            await_until::<Linux>(|| condition(self.word()));
        }
    }

    #[test]
    fn free_to_locked_and_back() {
        let lock = RawQspinlock::at(0);
        lock.lock();
        assert_eq!(lock.word(), LOCKED);
        assert!(!lock.try_lock());
        // SAFETY: this thread took `lock` with `lock` above and still holds it.
        unsafe { lock.unlock() };
        assert_eq!(lock.word(), 0);
    }

    #[test]
    fn unlock_leaves_all_but_its_byte() {
        let lock = RawQspinlock::at((7 << 18) | PENDING | LOCKED);
        // SAFETY: the word was made with its LOCKED byte set, and nobody has cleared that since.
        unsafe { lock.unlock() };
        assert_eq!(lock.word(), (7 << 18) | PENDING);
    }

    #[test]
    fn who_waits_keeps_trylock_out() {
        assert!(!RawQspinlock::at(PENDING).try_lock());
        assert!(!RawQspinlock::at(1 << 18).try_lock());
    }

    /// A thread whose nodes are all in use by what its signal handlers have interrupted.
    #[test]
    fn without_a_node_it_waits_outside_of_the_queue() {
        let lock = &RawQspinlock::at(PENDING | LOCKED);
        thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let places = [(); 4].map(|()| Place::<Linux>::claim());
                assert!(places.iter().all(Option::is_some));
                lock.lock();
                assert_eq!(lock.word(), LOCKED, "no tail");
                // SAFETY: this thread took `lock` with `lock` above and still holds it.
                unsafe { lock.unlock() };
                places.into_iter().rev().for_each(drop);
            });
            // However long it spins, it leaves the word alone.
            thread::sleep(core::time::Duration::from_millis(10));
            assert_eq!(lock.word(), PENDING | LOCKED);
            assert!(!waiter.is_finished());
            lock.word.store(0, Release);
        });
    }

    /// (0,0,1) -> (0,1,1) -> (n,1,1) -> (n,1,0) -> (n,0,1) -> (n,0,0) -> (0,0,1) -> (0,0,0)
    #[test]
    fn the_second_is_pending_and_the_third_queues() {
        let lock = &RawQspinlock::at(LOCKED);
        let [unlock_second, unlock_third] = &[const { AtomicU32::new(0) }; 2];
        let hold = |until: &AtomicU32| {
            lock.lock();
            await_until::<Linux>(|| until.load(Acquire) != 0);
            // SAFETY: this thread took `lock` with `lock` above and still holds it.
            unsafe { lock.unlock() };
        };
        thread::scope(|scope| {
            scope.spawn(|| hold(unlock_second));
            lock.await_word(|word| word == PENDING | LOCKED);
            scope.spawn(|| hold(unlock_third));
            lock.await_word(|word| word & TAIL_MASK != 0);
            let tail = lock.word() & TAIL_MASK;
            assert_eq!(lock.word(), tail | PENDING | LOCKED);
            assert!(tail >> 18 > 0 && tail & (3 << 16) == 0, "a CPU's first node");
            // SAFETY: the word was made with its LOCKED byte set, and nobody has cleared that
            // since.
            unsafe { lock.unlock() };
            lock.await_word(|word| word == tail | LOCKED);
            unlock_second.store(1, Release);
            lock.await_word(|word| word == LOCKED);
            unlock_third.store(1, Release);
        });
        assert_eq!(lock.word(), 0);
    }
}
