//! The mutex (`kernel/locking/mutex.c`): sleeps, has an owner, and spins instead of sleeping as
//! long as that owner runs.
//!
//! A free mutex goes to the first thread that comes, also before sleeping waiters. But a waiter
//! that was woken in vain once asks the owner to hand it off (HANDOFF), and is next: no thread
//! starves.
//!
//! ```text
//!   owner    task | PICKUP 4 | HANDOFF 2 | WAITERS 1    (see owner.rs)
//!   waiters  first come, first served, under the wait lock
//! ```
//!
//! It differs from the kernel's in three ways. Optimistic spinning ends after some time by itself.
//! A wait can have a deadline, but signals do not interrupt it. And the last thread to unlock the
//! mutex may free it. The kernel forbids that for an object whose reference count its own mutex
//! guards; POSIX allows it, and so do we.
//!
//! How its parts lie in memory is its [`Layout`]: as the kernel's do, or in few bytes ([`Compact`]).

mod compact;

use core::marker::PhantomData;
use core::ops::Deref;

pub use compact::Compact;

use crate::osq::RawOsq;
use crate::owner::{Owner, Waiting};
use crate::platform::{Atomic, Platform, Task};
use crate::sleeper::Sleeper;
use crate::wait_list::{List, Node};
use crate::wait_lock::{WaitGuard, WaitLock};

/// A thread that waits for a mutex.
pub struct Waiter<P: Platform> {
    task: Task,
    sleeper: Sleeper<P>,
    /// Where its record can be found, for layouts in which the list does not say so itself.
    tail: u32,
}

impl<P: Platform> Waiting<P> for Waiter<P> {
    fn task(&self) -> Task {
        self.task
    }

    fn sleeper(&self) -> &Sleeper<P> {
        &self.sleeper
    }
}

/// The parts of a mutex, and where a thread waits that wants it.
pub trait Layout<P: Platform>: Send + Sync + 'static {
    /// The word of the owner.
    type Owner: Atomic<usize>;
    /// The word of the queue of those who spin.
    type Tail: Atomic<u32>;
    /// The storage that a thread needs to wait, until it is dropped.
    type Place;
    /// The list of waiters, locked until it is dropped.
    type Waiters<'a>: Deref<Target = List<Waiter<P>>>
    where
        Self: 'a;

    /// The fields of a free mutex.
    fn free() -> Self;
    /// The owner word.
    fn owner(&self) -> &Owner<P, Self::Owner>;
    /// Where those spin one behind the other who have not slept yet.
    fn osq(&self) -> &RawOsq<P, Self::Tail>;
    /// First come, first served.
    fn lock_waiters(&self) -> Self::Waiters<'_>;

    /// A place for the calling thread. None: there is none left.
    fn claim() -> Option<Self::Place>;
    /// Whether it may spin from there.
    fn may_spin(place: &Self::Place) -> bool;
    /// The record of the task that has the place, which is then to be [`Layout::note`]d.
    fn record(place: &Self::Place, task: Task) -> Node<Waiter<P>>;
    /// Notes where the record is, which does not move from here on, before it is put in the list.
    fn note(place: &Self::Place, record: &Node<Waiter<P>>);
}

/// As the kernel has them, in 32 bytes where a pointer takes 8.
pub struct Kernels<P: Platform> {
    owner: Owner<P>,
    osq: RawOsq<P>,
    waiters: WaitLock<P, List<Waiter<P>>>,
}

impl<P: Platform> Layout<P> for Kernels<P> {
    type Owner = P::Long;
    type Tail = P::Word;
    type Place = ();
    type Waiters<'a> = WaitGuard<'a, P, List<Waiter<P>>>;

    fn free() -> Self {
        Self {
            owner: Owner::from_word(P::Long::new(0)),
            osq: RawOsq::new_in(),
            waiters: WaitLock::new(List::new()),
        }
    }

    #[inline]
    fn owner(&self) -> &Owner<P> {
        &self.owner
    }

    #[inline]
    fn osq(&self) -> &RawOsq<P> {
        &self.osq
    }

    #[inline]
    fn lock_waiters(&self) -> Self::Waiters<'_> {
        self.waiters.lock()
    }

    #[inline]
    fn claim() -> Option<()> {
        Some(())
    }

    #[inline]
    fn may_spin((): &()) -> bool {
        true
    }

    #[inline]
    fn record((): &(), task: Task) -> Node<Waiter<P>> {
        Node::new(Waiter { task, sleeper: Sleeper::new(), tail: 0 })
    }

    #[inline]
    fn note((): &(), _: &Node<Waiter<P>>) {}
}

/// Nanoseconds that a thread without a place to wait in sleeps between two attempts.
const NAP: u64 = 1_000_000;

/// A mutex. Not recursive; the thread that locked it unlocks it.
///
/// # Rules
/// - A thread must not end while it holds the lock: nobody else may release it, and the waiters
///   wait for ever.
/// - The child of a fork must not use a lock that another thread held or waited for at the fork.
///   Its wait list leads to threads that the child does not have.
///
/// # Guarantees
/// - Ordering: the next holder sees all that a holder did before it released the lock.
/// - Fairness: a newcomer may take a free lock before the waiters. A waiter that was woken in vain
///   once gets the lock next, so no thread starves.
/// - Source: `kernel/locking/mutex.c`.
#[repr(transparent)]
pub struct RawMutex<P: Platform, L: Layout<P> = Kernels<P>> {
    parts: L,
    platform: PhantomData<P>,
}

impl<P: Platform, L: Layout<P>> RawMutex<P, L> {
    /// A free mutex.
    pub fn new_in() -> Self {
        Self { parts: L::free(), platform: PhantomData }
    }

    #[inline]
    fn owner(&self) -> &Owner<P, L::Owner> {
        self.parts.owner()
    }

    /// Takes the lock, and waits for that as long as it takes.
    ///
    /// - The caller must not hold the lock already: it would wait for ever.
    ///   [`RawDebug`](crate::debug::RawDebug) returns `Recursion` instead.
    /// - The caller must not hold a spinlock: this call may sleep, and other threads would spin
    ///   until it wakes.
    /// - A signal handler must not call this: it may have interrupted the holder, or a change of
    ///   the wait list, and would wait for ever.
    #[inline]
    pub fn lock(&self) {
        if !self.owner().try_lock_fast() {
            self.lock_slow(None);
        }
    }

    /// Takes the lock if nobody has it.
    ///
    /// - Any thread may call this, also with a spinlock held: it does not sleep. The holder gets
    ///   `false`.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.owner().try_lock(P::current()).is_ok()
    }

    /// Takes the lock, or gives up when `deadline` (nanoseconds of [`Platform::now`]; none: never)
    /// has come. True if it has the lock.
    ///
    /// - The rules of [`Self::lock`] apply.
    /// - The lock is taken if it is free, even if the deadline has passed.
    #[inline]
    pub fn lock_until(&self, deadline: Option<u64>) -> bool {
        self.owner().try_lock_fast() || self.lock_slow(deadline)
    }

    #[cold]
    fn lock_slow(&self, deadline: Option<u64>) -> bool {
        let me = P::current();
        // Before queueing to spin: a free lock must not be waited for behind a spinner that was
        // preempted.
        if self.owner().try_lock(me).is_ok() {
            return true;
        }
        let Some(place) = L::claim() else { return self.poll(me, deadline) };
        if L::may_spin(&place) && self.spin(me) {
            return true;
        }
        let mut waiters = self.parts.lock_waiters();
        if self.owner().try_lock(me).is_ok() {
            return true;
        }
        let node = L::record(&place, me);
        L::note(&place, &node);
        // SAFETY: it stays where it is, and is removed below.
        unsafe { waiters.push_back(&node) };
        self.owner().set_waiters();
        let mut expired = false;
        let taken = loop {
            // Under the wait lock: an unlocker from before has told us already, and we forget that;
            // a later unlocker tells us later.
            node.value.sleeper.arm();
            if self.owner().try_lock(me).is_ok() {
                break true;
            }
            if expired {
                break false;
            }
            drop(waiters);
            expired = !node.value.sleeper.sleep(deadline);
            // Only the first waiter is woken.
            let taken = !expired
                && (self.owner().try_lock_or_hand_off(me).is_ok()
                    || self.owner().spin(me, || true));
            waiters = self.parts.lock_waiters();
            if taken {
                break true;
            }
        };
        // SAFETY: inserted above; only we remove it.
        unsafe { waiters.remove(&node) };
        if waiters.is_empty() {
            self.owner().clear_flags();
        }
        taken
    }

    /// Takes the lock by optimistic spinning, in the queue of those who do. The first waiter spins
    /// without: it has waited long enough.
    fn spin(&self, me: Task) -> bool {
        // Not to queue in vain.
        if self.owner().task().is_some_and(|owner| !P::is_running(owner))
            || !self.parts.osq().lock()
        {
            return false;
        }
        let taken = self.owner().spin(me, || true);
        // SAFETY: the queue's `lock` above succeeded in this thread, which has not left the queue
        // since.
        unsafe { self.parts.osq().unlock() };
        taken
    }

    /// Takes the lock without a place to wait in: looks at it from time to time.
    #[cold]
    fn poll(&self, me: Task, deadline: Option<u64>) -> bool {
        // Nobody tells it.
        let sleeper = Sleeper::<P>::new();
        loop {
            if self.owner().try_lock(me).is_ok() {
                return true;
            }
            let now = P::now();
            let next = now.saturating_add(NAP);
            if deadline.is_some_and(|deadline| deadline <= now) {
                return false;
            }
            sleeper.sleep(Some(deadline.map_or(next, |deadline| deadline.min(next))));
        }
    }

    /// Releases the lock.
    ///
    /// - The thread that took the lock must release it, once. After any other call two threads can
    ///   be inside at once. [`RawDebug`](crate::debug::RawDebug) returns `AlreadyUnlocked` or
    ///   `WrongOwner` instead.
    /// - A signal handler must not call this for a lock that has waiters: it may have interrupted a
    ///   change of the wait list.
    /// - The caller may free the lock afterwards, if no other thread holds it, waits for it or will
    ///   use it.
    ///
    /// # Safety
    /// The calling thread holds it.
    #[inline]
    pub unsafe fn unlock(&self) {
        if !self.owner().unlock_fast() {
            self.owner().unlock_slow(|| self.parts.lock_waiters());
        }
    }

    /// Whether anyone holds it now.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    pub fn is_locked(&self) -> bool {
        self.owner().task().is_some()
    }

    /// Whether the calling thread holds it.
    ///
    /// - Any thread may call this. Only the calling thread changes the answer.
    pub fn is_owned(&self) -> bool {
        self.owner().task() == Some(P::current())
    }
}

#[cfg(feature = "std")]
impl RawMutex<crate::platform::linux::Linux> {
    /// A free mutex, for statics.
    pub const fn new() -> Self {
        use core::sync::atomic::{AtomicU32, AtomicUsize};
        let parts = Kernels {
            owner: Owner::from_word(AtomicUsize::new(0)),
            osq: RawOsq::new(),
            waiters: WaitLock::from_word(AtomicU32::new(0), List::new()),
        };
        Self { parts, platform: PhantomData }
    }
}

#[cfg(feature = "std")]
impl Default for RawMutex<crate::platform::linux::Linux> {
    fn default() -> Self {
        Self::new()
    }
}
