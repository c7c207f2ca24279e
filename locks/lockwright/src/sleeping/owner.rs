//! The owner word of [`crate::mutex`] and [`crate::ww_mutex`] (`kernel/locking/mutex.c`): it holds
//! the owning thread; others spin on that thread, and the owner passes the lock on.
//!
//! ```text
//!   word   task (a multiple of 8) | PICKUP 4 | HANDOFF 2 | WAITERS 1
//!
//!   0                      free
//!   WAITERS                free; somebody sleeps, or has just been woken. Any thread may take it
//!   T                      T's
//!   T | WAITERS            T's; T wakes the first waiter when it releases
//!   T | WAITERS | HANDOFF  T's; T gives it to the first waiter instead of releasing it
//!   T | WAITERS | PICKUP   given to T, which has not noticed yet; no other's
//! ```
//!
//! HANDOFF and PICKUP never stand without a task. WAITERS changes under the wait lock only.

use core::marker::PhantomData;
use core::ops::Deref;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::platform::{Atomic, Platform, Task};
use crate::sleeper::Sleeper;
use crate::wait_list::List;

const WAITERS: usize = 1;
const HANDOFF: usize = 2;
const PICKUP: usize = 4;
const FLAGS: usize = WAITERS | HANDOFF | PICKUP;

/// The owner of a mutex, with its flags.
#[repr(transparent)]
pub struct Owner<P: Platform, L = <P as Platform>::Long> {
    word: L,
    platform: PhantomData<P>,
}

/// A waiter for a mutex.
pub trait Waiting<P: Platform> {
    /// Who it is.
    fn task(&self) -> Task;
    /// The sleeper of the waiter.
    fn sleeper(&self) -> &Sleeper<P>;
}

impl<P: Platform, L: Atomic<usize>> Owner<P, L> {
    /// Nobody, over a word of 0.
    pub const fn from_word(word: L) -> Self {
        Self { word, platform: PhantomData }
    }

    /// Takes a lock that nobody has or waits for.
    #[inline]
    pub fn try_lock_fast(&self) -> bool {
        // Acquire: pairs with the Releases in `unlock_fast`, `unlock_slow` and `pass_on`.
        self.word.compare_exchange(0, P::current().number(), Acquire, Relaxed).is_ok()
    }

    /// Releases the caller's lock if nobody waits.
    #[inline]
    pub fn unlock_fast(&self) -> bool {
        // Release: pairs with the Acquires in `try_lock_fast` and `take`.
        self.word.compare_exchange(P::current().number(), 0, Release, Relaxed).is_ok()
    }

    /// Takes the lock if nobody has it, or it has been handed to the caller.
    ///
    /// # Errors
    /// The task that has it.
    pub fn try_lock(&self, me: Task) -> Result<(), Task> {
        self.take(me, false)
    }

    /// As [`Owner::try_lock`]; asks the owner to hand it off. For the first waiter.
    ///
    /// # Errors
    /// The task that has it.
    pub fn try_lock_or_hand_off(&self, me: Task) -> Result<(), Task> {
        self.take(me, true)
    }

    fn take(&self, me: Task, ask: bool) -> Result<(), Task> {
        // Relaxed: a guess, which the exchange verifies.
        let mut word = self.word.load(Relaxed);
        loop {
            let (new, result) = match Task::from_owner(word) {
                None => (word | me.number(), Ok(())),
                Some(owner) if word & PICKUP != 0 && owner == me => (word & !PICKUP, Ok(())),
                Some(owner) if ask && word & (PICKUP | HANDOFF) == 0 => {
                    (word | HANDOFF, Err(owner))
                }
                Some(owner) => return Err(owner),
            };
            // Acquire: pairs with the Releases in `unlock_fast`, `unlock_slow` and `pass_on`.
            match self.word.compare_exchange(word, new, Acquire, Relaxed) {
                Ok(_) => return result,
                Err(seen) => word = seen,
            }
        }
    }

    /// Releases the lock, or hands it off, and wakes the first waiter.
    ///
    /// If anybody waits, under the wait lock, other than in the kernel: the next owner has to take
    /// the wait lock before it is done with the mutex, and so after us. Hence it may free the
    /// mutex then.
    #[cold]
    pub fn unlock_slow<W: Waiting<P>, G>(&self, lock_waiters: impl Fn() -> G)
    where
        G: Deref<Target = List<W>>,
    {
        loop {
            // Relaxed: a guess, which the exchange verifies.
            let word = self.word.load(Relaxed);
            if word & WAITERS == 0 {
                // Release: pairs with the Acquires in `try_lock_fast` and `take`.
                if self.word.compare_exchange(word, 0, Release, Relaxed).is_ok() {
                    return;
                }
                continue;
            }
            let waiters = lock_waiters();
            // SAFETY: it is in the list, hence alive as long as we have the wait lock.
            let first = waiters.first().map(|first| unsafe { &(*first.as_ptr()).value });
            // None: those who waited have given up.
            if let Some(first) = first {
                self.pass_on(first.task());
                // SAFETY: `first` is in the list, hence its sleeper is alive as long as we have the
                // wait lock.
                let wake = unsafe { Sleeper::tell(first.sleeper()) };
                drop(waiters);
                return wake.send();
            }
        }
    }

    /// Releases the lock, or gives it to the first waiter if that has asked for it. Under the wait
    /// lock.
    fn pass_on(&self, first: Task) {
        // Relaxed: as in `take`.
        let mut word = self.word.load(Relaxed);
        while word & HANDOFF == 0 {
            // Release: pairs with the Acquires in `try_lock_fast` and `take`.
            match self.word.compare_exchange(word, WAITERS, Release, Relaxed) {
                Ok(_) => return,
                Err(seen) => word = seen,
            }
        }
        // A store, because nobody else changes the word now: it has a task and HANDOFF, and we have
        // the wait lock. Relaxed: the new owner takes the wait lock to leave the list, and so sees
        // all that we have done.
        self.word.store(first.number() | WAITERS | PICKUP, Relaxed);
    }

    /// Notes that somebody waits. Under the wait lock.
    pub fn set_waiters(&self) {
        // Relaxed: a later unlocker sees it, as it changes the same word; an earlier one has left
        // the lock free for the attempt that follows.
        self.word.fetch_or(WAITERS, Relaxed);
    }

    /// Notes that nobody waits any more. Under the wait lock.
    pub fn clear_flags(&self) {
        // Relaxed: only flags.
        self.word.fetch_and(!FLAGS, Relaxed);
    }

    /// Whether somebody waits.
    pub fn has_waiters(&self) -> bool {
        // Relaxed: a caller that has to know has a fence before.
        self.word.load(Relaxed) & WAITERS != 0
    }

    /// The task that has it.
    pub fn task(&self) -> Option<Task> {
        // Relaxed: tells nothing of what the owner has done.
        Task::from_owner(self.word.load(Relaxed))
    }

    /// Takes the lock if it becomes free while its owners run: they will release it soon, and to
    /// sleep and be woken takes longer. Ends as well when `go_on`, asked each round, says no, or
    /// when it has lasted long.
    pub fn spin(&self, me: Task, go_on: impl Fn() -> bool) -> bool {
        let mut rounds = 0;
        loop {
            let Err(owner) = self.try_lock(me) else { return true };
            while self.task() == Some(owner) {
                if !P::is_running(owner) || P::need_resched(rounds) || !go_on() {
                    return false;
                }
                rounds += 1;
                P::relax();
            }
        }
    }
}
