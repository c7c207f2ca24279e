//! The rtmutex (`kernel/locking/rtmutex.c`): a sleeping lock whose owner inherits the priority of
//! its waiters, and theirs, along the whole chain of waits.
//!
//! Waiters are served by priority, first come, first served among equals. A woken waiter has to
//! take the lock itself; only a task of higher priority can be faster.
//!
//! ```text
//!   owner    the owner's task, 0 if there is none
//!            bit 0  there may be waiters: no fast path
//!
//!   locks nest: stay lock of a task -> wait lock of a lock -> pi lock of a task
//! ```
//!
//! Other than the kernel's: waiters are a sorted list instead of a tree. A task's priority is the
//! one that it had when it began to wait. A task without storage inherits nothing. The inner locks
//! are never tried: their holders may be preempted here, and a thread that tries again at a
//! high priority would keep them so.

mod chain;
mod error;
mod inherit;
pub(crate) mod pi;
mod raw_guard;
pub(crate) mod raw_lock;
mod waiter;

use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use chain::{WaiterNode, Walk};
pub use error::Error;
use raw_guard::RawGuard;
use raw_lock::RawLock;
use waiter::{Core, Prioritized, Waiter, enqueue};

use crate::event::Event;
use crate::platform::{Atomic, Platform, Task, Word};
use crate::wait_list::{List, Node};

const FREE: usize = 0;
const HAS_WAITERS: usize = 1;

type Waiters<P> = List<Waiter<<P as Platform>::Word, <P as Platform>::Long>>;
type Guard<'a, P> = RawGuard<'a, P, Waiters<P>>;

/// A mutex with priority inheritance. Not recursive.
///
/// # Rules
/// - A thread must not end while it holds the lock: nobody else may release it, and the waiters
///   wait for ever.
/// - The child of a fork must not use a lock that another thread held or waited for at the fork.
///   Its wait list leads to threads that the child does not have.
/// - A waiter keeps the priority that it had when it began to wait: a thread should change its
///   priority before it waits.
///
/// # Guarantees
/// - Ordering: the next holder sees all that a holder did before it released the lock.
/// - Fairness: waiters are served by priority, first come, first served among equals. A task of
///   lower priority can starve.
/// - Inheritance: the owner runs with the highest priority of its waiters, along the whole chain of
///   owners that wait.
/// - Source: `kernel/locking/rtmutex.c`.
pub struct RawRtMutex<P: Platform>(Core<P::Word, P::Long>);

impl<P: Platform> RawRtMutex<P> {
    /// A free lock.
    pub fn new_in() -> Self {
        Self(Core { owner: P::Long::new(FREE), waiters: RawLock::new(List::new()) })
    }

    /// Waits for the lock and takes it. Does not return from a deadlock, and does not look for one.
    ///
    /// - The caller must not hold the lock already, or wait for itself along a chain of owners: it
    ///   sleeps for ever. [`Self::lock_checked`] returns [`Error::Deadlock`] instead.
    /// - The caller must not hold a spinlock: this call may sleep, and other threads would spin
    ///   until it wakes.
    /// - A signal handler must not call this: it may have interrupted the holder, or a change of
    ///   the wait list, and would wait for ever.
    #[inline]
    pub fn lock(&self) {
        if !self.0.try_lock_fast::<P>() {
            self.0.lock_or_stay::<P>();
        }
    }

    /// Waits for the lock and takes it, unless that would wait for ever.
    ///
    /// - The caller must not go on as if it had the lock after an error: the lock is not taken.
    /// - The caller must not hold a spinlock: this call may sleep, and other threads would spin
    ///   until it wakes.
    /// - A signal handler must not call this: it may have interrupted the holder, or a change of
    ///   the wait list, and would wait for ever.
    ///
    /// # Errors
    /// [`Error::Deadlock`].
    #[inline]
    pub fn lock_checked(&self) -> Result<(), Error> {
        self.lock_until(None)
    }

    /// Waits for the lock until `deadline` (nanoseconds of [`Platform::now`]; none: for ever),
    /// unless there is a deadlock, and takes it.
    ///
    /// - The rules of [`Self::lock_checked`] apply.
    /// - The lock is taken if it is free, even if the deadline has passed.
    ///
    /// # Errors
    /// Any [`Error`].
    #[inline]
    pub fn lock_until(&self, deadline: Option<u64>) -> Result<(), Error> {
        if self.0.try_lock_fast::<P>() {
            return Ok(());
        }
        self.0.lock_slow::<P>(deadline, Walk::Full)
    }

    /// Takes the lock if it is free, and nobody of a higher priority waits.
    ///
    /// - Any thread may call this. It does not wait for the owner, but it may wait for the few
    ///   instructions in which another thread changes the wait list.
    /// - A signal handler must not call this: it may have interrupted the holder, or a change of
    ///   the wait list, and would wait for ever.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.0.try_lock_fast::<P>() || self.0.try_lock_slow::<P>()
    }

    /// Releases the lock and wakes the first waiter. Priorities that its owner inherited through it
    /// end.
    ///
    /// - The thread that took the lock must release it, once. After any other call two threads can
    ///   be inside at once. [`RawDebug`](crate::debug::RawDebug) returns `AlreadyUnlocked` or
    ///   `WrongOwner` instead.
    /// - A signal handler must not call this for a lock that has waiters: it may have interrupted a
    ///   change of the wait list.
    /// - The caller may lose its CPU in this call: its inherited priority ends.
    ///
    /// # Safety
    /// The caller holds it.
    #[inline]
    pub unsafe fn unlock(&self) {
        // Relaxed: we are the owner; the exchange sees a new waiter.
        let owner = self.0.owner.load(Relaxed);
        if owner & HAS_WAITERS != 0 || !self.0.release(owner) {
            self.0.unlock_slow::<P>();
        }
    }

    /// Whether anyone holds it now.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    pub fn is_locked(&self) -> bool {
        self.owner().is_some()
    }

    /// The task that holds it now.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    pub fn owner(&self) -> Option<Task> {
        self.0.owner()
    }
}

impl<W: Word, L: Atomic<usize>> Core<W, L> {
    fn owner(&self) -> Option<Task> {
        // Relaxed: a caller that relies on it holds the wait lock while the bit is set, and then
        // nothing changes it.
        Task::from_owner(self.owner.load(Relaxed))
    }

    #[inline]
    fn try_lock_fast<P: Platform>(&self) -> bool {
        // Acquire: pairs with the Release in `release`.
        self.owner.compare_exchange(FREE, P::current().number(), Acquire, Relaxed).is_ok()
    }

    /// Ends the ownership unless somebody has come to wait. From here on the lock may be gone.
    #[inline]
    fn release(&self, owner: usize) -> bool {
        // Release: pairs with the Acquires in `try_lock_fast` and `take`.
        self.owner.compare_exchange(owner, FREE, Release, Relaxed).is_ok()
    }

    #[cold]
    fn lock_or_stay<P: Platform<Word = W, Long = L>>(&self) {
        if self.lock_slow::<P>(None, Walk::Minimal).is_err() {
            // As the kernel does: to go on without the lock would be worse.
            let word = W::new(0);
            loop {
                word.wait(0, None);
            }
        }
    }

    #[cold]
    fn try_lock_slow<P: Platform<Word = W, Long = L>>(&self) -> bool {
        if self.owner().is_some() {
            return false;
        }
        let waiters = self.waiters.lock::<P>();
        let me = P::current();
        let taken = self.take::<P>(&waiters, me, None);
        self.unmark(&waiters);
        taken
    }

    #[cold]
    fn lock_slow<P: Platform<Word = W, Long = L>>(
        &self,
        deadline: Option<u64>,
        walk: Walk,
    ) -> Result<(), Error> {
        P::count(Event::RtmutexSlowlock, 1);
        let me = P::current();
        let mut waiters = self.waiters.lock::<P>();
        if self.take::<P>(&waiters, me, None) {
            P::count(Event::RtmutexSlowAcq1, 1);
            return Ok(());
        }
        if self.owner() == Some(me) {
            self.unmark(&waiters);
            P::count(Event::RtmutexDeadlock, 1);
            return Err(Error::Deadlock);
        }
        let node = Node::new(Waiter::new(me, self));
        let mut result;
        (waiters, result) = self.begin_wait::<P>(waiters, &node, walk);
        if result.is_ok() {
            (waiters, result) = self.wait::<P>(waiters, &node, deadline);
        }
        match result {
            Ok(()) => P::count(Event::RtmutexSlowAcq2, 1),
            Err(error) => {
                waiters = self.end_wait::<P>(waiters, &node);
                self.unmark(&waiters);
                P::count(Event::RtmutexDeadlock, usize::from(error == Error::Deadlock));
            }
        }
        drop(waiters);
        // A thread that found us waiting may still look at the lock, and we may free it from here
        // on.
        P::per_task(me).inspect(|task| drop(task.stay.lock::<P>()));
        result
    }

    /// Takes the lock if it has no owner and nobody goes before us. `node`: the record by which we
    /// wait, if we do.
    fn take<P: Platform<Word = W, Long = L>>(
        &self,
        waiters: &Waiters<P>,
        me: Task,
        node: Option<&WaiterNode<P>>,
    ) -> bool {
        // From now on the owner, if any, comes to the wait lock.
        // Acquire: pairs with the Release in `release`.
        if Task::from_owner(self.owner.fetch_or(HAS_WAITERS, Acquire)).is_some() {
            return false;
        }
        // SAFETY: nodes in the list are alive.
        let first = waiters.first().map(|first| unsafe { first.as_ref() });
        let pi = P::per_task(me).map(|task| &task.pi);
        match (node, first) {
            (Some(node), Some(first)) if !ptr::eq(node, first) => return false,
            (None, Some(first)) => {
                let pi = pi.map(|pi| pi.lock::<P>());
                let inherited = pi.as_ref().and_then(|pi| pi.inherited());
                // No theft among equals, whose latency would have no bound.
                if P::priority().max(inherited.unwrap_or(i32::MIN)) <= first.value.priority() {
                    return false;
                }
            }
            (None, None) => {
                // Relaxed: what orders it is the next Release.
                self.owner.store(me.number(), Relaxed);
                return true;
            }
            (Some(_), _) => {}
        }
        let pi = pi.map(|pi| pi.lock::<P>());
        if let Some(node) = node {
            // SAFETY: in the list, as it waits.
            unsafe { waiters.remove(node) };
            pi.as_ref().inspect(|pi| pi.blocked_on.set(ptr::null()));
        }
        // SAFETY: nodes in the list are alive.
        let first = waiters.first().map(|first| unsafe { first.as_ref() });
        if let Some((pi, first)) = pi.as_ref().zip(first) {
            // Its priority is no higher than ours: nothing to inherit.
            // SAFETY: without an owner, the lock's first waiter is in no task's list.
            unsafe { pi.attach(&first.value) };
        }
        let mark = if first.is_some() { HAS_WAITERS } else { 0 };
        // Relaxed: as above.
        self.owner.store(me.number() | mark, Relaxed);
        true
    }

    /// Puts `node` into the list, lets the owner inherit from it, and walks on along the chain.
    fn begin_wait<'a, P: Platform<Word = W, Long = L>>(
        &'a self,
        waiters: Guard<'a, P>,
        node: &WaiterNode<P>,
        walk: Walk,
    ) -> (Guard<'a, P>, Result<(), Error>) {
        let me = node.value.task;
        let owner = self.owner();
        let before = waiters.first();
        {
            let pi = P::per_task(me).map(|task| task.pi.lock::<P>());
            node.value.set_priority(pi.as_ref().map_or_else(P::priority, |pi| {
                pi.own.set(P::priority());
                pi.blocked_on.set(node);
                pi.effective()
            }));
            // SAFETY: it stays where it is until `take` or `end_wait` has removed it.
            unsafe { enqueue(&waiters, node) };
        }
        let Some(owner) = owner else { return (waiters, Ok(())) };
        let Some(task) = P::per_task(owner) else { return (waiters, Ok(())) };
        let (next, changed) = {
            let pi = task.pi.lock::<P>();
            let first = waiters.first().is_some_and(|first| ptr::eq(first.as_ptr(), node));
            if first {
                // SAFETY: by the invariant of `waiters`.
                unsafe { pi.exchange(before.map(|before| &before.as_ref().value), &node.value) };
                pi.tell::<P>(owner);
            }
            (pi.blocking_lock(), first)
        };
        if next.is_null() || (walk == Walk::Minimal && !changed) {
            return (waiters, Ok(()));
        }
        drop(waiters);
        let result = chain::walk::<P>(owner, walk, Some(self), next, Some(node), me);
        (self.waiters.lock::<P>(), result)
    }

    /// Sleeps until the lock can be taken, and takes it.
    fn wait<'a, P: Platform<Word = W, Long = L>>(
        &'a self,
        mut waiters: Guard<'a, P>,
        node: &WaiterNode<P>,
        deadline: Option<u64>,
    ) -> (Guard<'a, P>, Result<(), Error>) {
        P::count(Event::RtmutexSlowBlock, 1);
        let mut in_time = true;
        loop {
            if self.take::<P>(&waiters, node.value.task, Some(node)) {
                P::count(Event::RtmutexSlowAcq3, 1);
                return (waiters, Ok(()));
            }
            if !in_time {
                return (waiters, Err(Error::TimedOut));
            }
            node.value.doze();
            let first = waiters.first().is_some_and(|first| ptr::eq(first.as_ptr(), node));
            drop(waiters);
            if !first || !self.spin::<P>(&node.value) {
                P::count(Event::RtmutexSlowSleep, 1);
                in_time = node.value.sleep(deadline);
            }
            waiters = self.waiters.lock::<P>();
        }
    }

    /// Spins as long as the owner runs: it may be about to release. True: it has, or has woken us.
    fn spin<P: Platform<Word = W, Long = L>>(&self, waiter: &Waiter<W, L>) -> bool {
        let mut rounds = 0;
        // Relaxed, both: the thread checks again under the wait lock before it goes on.
        while let Some(owner) = self.owner() {
            if waiter.is_woken() {
                return true;
            }
            if !P::is_running(owner) || P::need_resched(rounds) {
                return false;
            }
            rounds += 1;
            P::relax();
        }
        true
    }

    /// Takes `node` out of the list, and from the owner what it inherited from it.
    fn end_wait<'a, P: Platform<Word = W, Long = L>>(
        &'a self,
        waiters: Guard<'a, P>,
        node: &WaiterNode<P>,
    ) -> Guard<'a, P> {
        let me = node.value.task;
        let first = waiters.first().is_some_and(|first| ptr::eq(first.as_ptr(), node));
        {
            let pi = P::per_task(me).map(|task| task.pi.lock::<P>());
            // SAFETY: in the list, as it waits.
            unsafe { waiters.remove(node) };
            pi.inspect(|pi| pi.blocked_on.set(ptr::null()));
        }
        let Some(owner) = self.owner().filter(|_| first) else { return waiters };
        let Some(task) = P::per_task(owner) else { return waiters };
        let next = {
            let pi = task.pi.lock::<P>();
            // SAFETY: by the invariant of `waiters`.
            unsafe {
                pi.detach(&node.value);
                if let Some(first) = waiters.first() {
                    pi.attach(&first.as_ref().value);
                }
            }
            pi.tell::<P>(owner);
            pi.blocking_lock()
        };
        if next.is_null() {
            return waiters;
        }
        drop(waiters);
        // No caller is left that a deadlock could be returned to.
        let _ = chain::walk::<P>(owner, Walk::Minimal, None, next, None, me);
        self.waiters.lock::<P>()
    }

    /// Opens the fast path again if nobody waits.
    fn unmark(&self, waiters: &List<Waiter<W, L>>) {
        if waiters.is_empty() {
            // Relaxed: goes on with the release sequence of the last owner.
            self.owner.fetch_and(!HAS_WAITERS, Relaxed);
        }
    }

    #[cold]
    fn unlock_slow<P: Platform<Word = W, Long = L>>(&self) {
        loop {
            let waiters = self.waiters.lock::<P>();
            let Some(first) = waiters.first() else {
                // Not under the wait lock: the lock may be gone once it is free, and the wait lock
                // with it.
                self.unmark(&waiters);
                drop(waiters);
                // Relaxed: we are the owner.
                let owner = self.owner.load(Relaxed);
                if owner & HAS_WAITERS == 0 && self.release(owner) {
                    return;
                }
                continue;
            };
            // SAFETY: nodes in the list are alive.
            let first = unsafe { first.as_ref() };
            let owner = self.owner().expect("held by who unlocks it");
            let task = P::per_task(owner);
            if let Some(task) = task {
                // SAFETY: by the invariant of `waiters`.
                unsafe { task.pi.lock::<P>().detach(&first.value) };
            }
            // Relaxed: the next owner comes through the wait lock, as the mark stays.
            self.owner.store(HAS_WAITERS, Relaxed);
            let wake = first.value.tell();
            drop(waiters);
            wake.send();
            // Last of all: without what it had inherited, this thread may not run again for long.
            // The pi lock keeps what others let it inherit meanwhile from being undone.
            if let Some(task) = task {
                task.pi.lock::<P>().tell::<P>(owner);
            }
            return;
        }
    }
}

#[cfg(feature = "std")]
impl RawRtMutex<crate::platform::linux::Linux> {
    /// A free lock, for statics.
    pub const fn new() -> Self {
        use core::sync::atomic::{AtomicU32, AtomicUsize};
        let waiters = RawLock::from_word(AtomicU32::new(0), List::new());
        Self(Core { owner: AtomicUsize::new(FREE), waiters })
    }
}

#[cfg(feature = "std")]
impl Default for RawRtMutex<crate::platform::linux::Linux> {
    fn default() -> Self {
        Self::new()
    }
}
