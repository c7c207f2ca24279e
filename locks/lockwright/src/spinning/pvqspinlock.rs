//! The paravirtual queued spinlock (`kernel/locking/qspinlock_paravirt.h`): the queued spinlock for
//! CPUs that may be preempted, as a guest's are, and as threads are. A waiter that has spun for
//! long halts until it is kicked. A newcomer may go ahead of the queue, as the queue's head may not
//! be running.
//!
//! How far ahead is the lock's [`Mode`]. The kernel's is [`Hybrid`].
//!
//! ```text
//!   word  bits  0-7   1 locked; 3 locked, and the head of the queue has halted: see the hash table
//!         bit   8     pending: the head spins, and nobody may go ahead of it
//!         bits 16-31  the tail of the queue
//!
//!   node  running -> halted -> hashing -> hashed -> running
//!            ^         |
//!            '---------'
//! ```
//!
//! A waiter that halts in the queue is not woken to be its head. The thread that makes it the head
//! holds the lock. It only puts the waiter into the hash table (`pv_hash.rs`), and its unlock kicks
//! it.
//!
//! Unlike the kernel's, a head that was kicked and lost the lock to another enters the table again.
//! The kernel's enters it once, and from then on spins; here that could be for as long as the
//! holder does not run. So it must know whether it stands in the table, hence the state *hashing*.
//! And a stealing thread gives its CPU away now and then.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

use crate::event::Event;
use crate::platform::{Atomic, Platform, Word, await_until};
use crate::qnode::{self, Node, Place};
use crate::qspinlock::{LOCKED, LOCKED_MASK, PENDING, Queue, TAIL_MASK, is_open, lock_queued};
use crate::{pv_halt, pv_hash};

/// The byte of a lock whose head has halted: `_Q_SLOW_VAL`.
const SLOW: u8 = 3;

/// A waiter spins, or runs its critical section, or does not wait at all.
const RUNNING: u32 = 0;
/// It has halted or is about to.
const HALTED: u32 = 1;
/// The thread that made it the head of the queue is putting it into the hash table.
const HASHING: u32 = 2;
/// It has halted as the head of the queue, and stands in the hash table.
const HASHED: u32 = 3;

/// A waiter checks once in so many rounds whether its predecessor runs: `PV_PREV_CHECK_MASK`, 255.
const LOOK_AT_PREV: u32 = 256;

/// Which threads may go ahead of the queue.
pub trait Mode: mode::Mode {}

/// Any thread, as long as there is a queue whose head has halted or does not spin at the moment. A
/// thread that finds the head spinning, or no queue, joins the queue. With little contention a fair
/// lock, with more CPUs than run an unfair one that starves nobody.
#[derive(Debug)]
pub struct Hybrid;

/// Anyone, if the lock is free at the first look: the kernel's of 4.5 to 4.14.
#[derive(Debug)]
pub struct SingleSteal;

/// Everyone; there is no queue. Test, then test-and-set: what the kernel does under a hypervisor
/// that cannot halt CPUs.
#[derive(Debug)]
pub struct Unfair;

impl Mode for Hybrid {}
impl Mode for SingleSteal {}
impl Mode for Unfair {}

mod mode {
    use crate::platform::Platform;

    /// A supertrait that only this file's modes can implement.
    pub trait Mode: Send + Sync + 'static {
        /// Whether there is a queue.
        const QUEUES: bool;
        /// Takes the lock ahead of the queue, unless it is to be joined.
        fn steal<P: Platform>(word: &P::Word) -> bool;
    }
}

/// Takes the lock if nobody has it and the head of the queue does not spin for it.
#[inline]
fn try_steal<P: Platform>(word: &P::Word, seen: u32) -> bool {
    // Acquire: pairs with the Releases in `unlock` and `unlock_slow`.
    let stolen = is_open(seen) && word.compare_exchange_byte(0, LOCKED as u8, Acquire).is_ok();
    if stolen {
        P::count(Event::PvLockStealing, 1);
    }
    stolen
}

impl mode::Mode for Hybrid {
    const QUEUES: bool = true;

    fn steal<P: Platform>(word: &P::Word) -> bool {
        let mut stolen = false;
        await_until::<P>(|| {
            // Relaxed: a look.
            let seen = word.load(Relaxed);
            stolen = try_steal::<P>(word, seen);
            stolen || seen & TAIL_MASK == 0 || seen & PENDING != 0
        });
        stolen
    }
}

impl mode::Mode for SingleSteal {
    const QUEUES: bool = true;

    fn steal<P: Platform>(word: &P::Word) -> bool {
        // Relaxed: a look.
        try_steal::<P>(word, word.load(Relaxed))
    }
}

impl mode::Mode for Unfair {
    const QUEUES: bool = false;

    fn steal<P: Platform>(word: &P::Word) -> bool {
        // Relaxed: a look.
        try_steal::<P>(word, word.load(Relaxed))
    }
}

/// A paravirtual queued spinlock. Not recursive.
///
/// Over [`crate::event::Counted`], [`Event::PvLockStealing`] counts acquisitions ahead of the
/// queue, and [`Event::LockSlowpath`] those through it.
///
/// # Rules
/// - A thread must not end while it holds the lock: nobody else may release it, and the waiters
///   wait for ever.
/// - The child of a fork must not take a lock that another thread held at the fork: it would spin
///   for ever.
/// - The holder should not sleep: waiters halt after a while, but they spin first.
///
/// # Guarantees
/// - Ordering: the next holder sees all that a holder did before it released the lock.
/// - Fairness: that of the mode. [`Hybrid`] lets no thread starve. With [`SingleSteal`] newcomers
///   can starve the head of the queue. [`Unfair`] has no queue, and any thread can starve.
/// - Source: `kernel/locking/qspinlock_paravirt.h`.
pub struct RawPvQspinlock<P: Platform, M: Mode = Hybrid> {
    word: P::Word,
    mode: PhantomData<M>,
}

impl<P: Platform, M: Mode> RawPvQspinlock<P, M> {
    /// A free lock.
    pub fn new_in() -> Self {
        Self { word: P::Word::new(0), mode: PhantomData }
    }

    /// Waits for the lock and takes it.
    ///
    /// - The caller must not hold the lock already: it would spin for ever.
    ///   [`RawDebug`](crate::debug::RawDebug) returns `Recursion` instead.
    /// - A signal handler may call this only if every other user takes the lock with signals
    ///   blocked (`lock_irqsave`). Otherwise it spins for ever if it has interrupted the holder.
    /// - The caller should not hold a lock whose waiters only spin: this call may halt, which is a
    ///   sleep in the kernel.
    #[inline]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_slow();
        }
    }

    /// Takes the lock if it is free and nobody waits in the queue.
    ///
    /// - Any thread and any signal handler may call this: it does not wait. The holder gets
    ///   `false`.
    #[inline]
    pub fn try_lock(&self) -> bool {
        // Acquire: pairs with the Releases in `unlock` and `unlock_slow`.
        self.word.compare_exchange(0, LOCKED, Acquire, Relaxed).is_ok()
    }

    #[cold]
    fn lock_slow(&self) {
        if M::QUEUES {
            lock_queued::<P, Pv<M>>(&self.word);
        } else {
            await_until::<P>(|| M::steal::<P>(&self.word));
        }
    }

    /// Releases the lock, and kicks the head of the queue if it has halted.
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
        // Release, here and below: pairs with the Acquires of all who take it.
        if !M::QUEUES {
            self.word.clear_byte(Release);
            return;
        }
        // The whole word where nobody waits: after an exchange of a byte the next of the word is slow.
        // Relaxed: a guess.
        let is_alone = self.word.load(Relaxed) == LOCKED;
        if is_alone && self.word.compare_exchange(LOCKED, 0, Release, Relaxed).is_ok() {
            return;
        }
        if self.word.compare_exchange_byte(LOCKED as u8, 0, Release).is_err() {
            self.unlock_slow();
        }
    }

    #[cold]
    fn unlock_slow(&self) {
        // Acquire: pairs with the exchange of the byte for SLOW in `await_lock`: the entry is in
        // the table.
        P::fence(Acquire);
        let node = qnode::node::<P>(pv_hash::remove::<P>(&raw const self.word));
        // Release: pairs with the Acquires of all who take the lock. From here on the lock may be
        // gone.
        self.word.clear_byte(Release);
        P::count(Event::PvKickUnlock, 1);
        pv_halt::kick::<P>(node);
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
}

/// The queue with halts and kicks.
struct Pv<M>(PhantomData<M>);

impl<P: Platform, M: Mode> Queue<P> for Pv<M> {
    #[inline]
    fn try_lock(word: &P::Word) -> bool {
        M::steal::<P>(word)
    }

    fn await_head(node: &Node<P::Word>, prev: &Node<P::Word>) {
        loop {
            let (mut early, mut round) = (false, 0);
            while round < P::SPIN_THRESHOLD {
                // Acquire: pairs with the Release in `lock_queued`.
                if node.locked.load(Acquire) != 0 {
                    return;
                }
                // Relaxed: a hint. The lock would have to come through a CPU that does not run:
                // adaptive spinning.
                early = round % LOOK_AT_PREV == 0 && prev.state.load(Relaxed) != RUNNING;
                if early {
                    break;
                }
                // The next look at the predecessor comes in time.
                let most = (P::SPIN_THRESHOLD - round).min(LOOK_AT_PREV - round % LOOK_AT_PREV);
                round += P::relax_rounds(most);
            }
            // Relaxed: ordered by the fence, which pairs with that in `kick`. Either we see that we
            // are the head, or the thread that makes us the head sees that we have halted:
            //
            //   A  state = halted        A' locked = 1
            //   B  fence                 B' fence
            //   C  locked?               C' halted? then hashing
            node.state.store(HALTED, Relaxed);
            P::fence(SeqCst);
            // Relaxed: a look, repeated above.
            if node.locked.load(Relaxed) == 0 {
                P::count(Event::PvWaitNode, 1);
                if early {
                    P::count(Event::PvWaitEarly, 1);
                }
                // Relaxed: a look.
                pv_halt::wait::<P>(node, || node.state.load(Relaxed) == HALTED);
            }
            // If that fails, it has been hashed, or is about to be.
            // Relaxed: tells nobody anything.
            let _ = node.state.compare_exchange(HALTED, RUNNING, Relaxed, Relaxed);
            // Relaxed: a look, repeated above.
            if node.locked.load(Relaxed) == 0 {
                P::count(Event::PvSpuriousWakeup, 1);
            }
        }
    }

    fn kick(word: &P::Word, next: u32) {
        let node = qnode::node::<P>(next);
        // Pairs with that in `await_head`.
        P::fence(SeqCst);
        // Relaxed: our fence has what is needed.
        if node.state.compare_exchange(HALTED, HASHING, Relaxed, Relaxed).is_err() {
            return;
        }
        pv_hash::insert::<P>(word, next);
        // The lock is ours. Another thread may unlock it, but only one that knows what we have
        // done. Relaxed: hence, and by the next store.
        word.fetch_or(u32::from(SLOW), Relaxed);
        // Release: pairs with the Acquire in `await_lock`.
        node.state.store(HASHED, Release);
    }

    fn await_lock(word: &P::Word, place: &Place<P>) -> u32 {
        P::count(Event::LockSlowpath, 1);
        let node = place.node();
        let mut hashed = is_hashed::<P>(node);
        let mut again = false;
        loop {
            // Relaxed: a hint for our follower.
            node.state.store(RUNNING, Relaxed);
            // Relaxed: it only keeps others from going ahead of us.
            word.fetch_or(PENDING, Relaxed);
            let mut round = 0;
            while round < P::SPIN_THRESHOLD {
                if let Some(seen) = take_pending::<P>(word) {
                    return seen;
                }
                round += P::relax_rounds(P::SPIN_THRESHOLD - round);
            }
            // Relaxed: as above.
            word.fetch_and(!PENDING, Relaxed);
            // If we saw the byte SLOW, and it no longer is, our entry has been taken out of the
            // table. Relaxed: a thread that looks for the new entry held the lock after the old
            // entry was taken out, and so does not find the old one.
            hashed &= word.load(Relaxed) as u8 == SLOW;
            if !hashed {
                pv_hash::insert::<P>(word, place.tail);
                // Release: pairs with the fence in `unlock_slow`. Acquire: if it is free, and ours
                // now, pairs with the Release in `unlock`.
                if word.swap_byte(SLOW, AcqRel) == 0 {
                    pv_hash::remove::<P>(word);
                    // Relaxed, both: the lock is ours.
                    return word.fetch_and(!(u32::from(SLOW) & !LOCKED), Relaxed) & !LOCKED_MASK
                        | LOCKED;
                }
                hashed = true;
            }
            // Relaxed: a hint for our follower.
            node.state.store(HASHED, Relaxed);
            P::count(Event::PvWaitHead, 1);
            if again {
                P::count(Event::PvWaitAgain, 1);
            }
            // Relaxed: a look.
            pv_halt::wait::<P>(node, || word.load(Relaxed) as u8 == SLOW);
            again = true;
        }
    }
}

/// Whether the new head of the queue has been put into the hash table.
fn is_hashed<P: Platform>(node: &Node<P::Word>) -> bool {
    let mut state = RUNNING;
    await_until::<P>(|| {
        // Acquire: pairs with the Release in `kick`: the lock's byte has become SLOW.
        state = node.state.load(Acquire);
        state != HASHING
    });
    state == HASHED
}

/// Takes the lock, if it is free, for the head of the queue, which is the pending one. Returns the
/// word then.
fn take_pending<P: Platform>(word: &P::Word) -> Option<u32> {
    // Relaxed: a look.
    let mut seen = word.load(Relaxed);
    while seen & LOCKED_MASK == 0 {
        let taken = seen - PENDING + LOCKED;
        // Fails if somebody joins the queue.
        // Acquire: pairs with the Releases in `unlock` and `unlock_slow`.
        match word.compare_exchange(seen, taken, Acquire, Relaxed) {
            Ok(_) => return Some(taken),
            Err(other) => seen = other,
        }
    }
    None
}

#[cfg(feature = "std")]
impl<M: Mode> RawPvQspinlock<crate::platform::linux::Linux, M> {
    /// A free lock, for statics.
    pub const fn new() -> Self {
        Self { word: core::sync::atomic::AtomicU32::new(0), mode: PhantomData }
    }
}

#[cfg(feature = "std")]
impl<M: Mode> Default for RawPvQspinlock<crate::platform::linux::Linux, M> {
    fn default() -> Self {
        Self::new()
    }
}
