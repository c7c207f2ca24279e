//! The completion (`kernel/sched/completion.c`): one thread waits until another has done something.
//!
//! A waiter whose wait is over may free the completion at once: who completed it does not touch it
//! any more. A mutex or a semaphore used to the same end does not have this property.
//!
//! Differs from the kernel's in that what completes a wait goes straight to the first waiter;
//! there, somebody who comes later can take it before the waiter runs.

use crate::platform::Platform;
use crate::swait::{Queue, Waiter};
use crate::wait_lock::WaitLock;

/// As many waits as will ever be.
const ALL: u32 = u32::MAX;

struct State<P: Platform> {
    /// How many waits are completed that have not begun; [`ALL`] is never used up. 0 if anybody
    /// waits.
    done: u32,
    waiters: Queue<P>,
}

/// A completion.
///
/// # Rules
/// - The child of a fork must not use a lock that another thread held or waited for at the fork.
///   Its wait list leads to threads that the child does not have.
///
/// # Guarantees
/// - Ordering: a thread whose wait is over sees all that was done before [`Self::complete`].
/// - Fairness: first come, first served.
/// - Source: `kernel/sched/completion.c`.
pub struct RawCompletion<P: Platform> {
    state: WaitLock<P, State<P>>,
}

impl<P: Platform> RawCompletion<P> {
    /// Nothing is done yet.
    pub fn new_in() -> Self {
        Self { state: WaitLock::new(State { done: 0, waiters: Queue::new() }) }
    }

    /// Waits until completed, as long as it takes. Uses up one [`RawCompletion::complete`].
    ///
    /// - The caller must not hold a lock that the completing thread needs before it completes: the
    ///   two would wait for each other.
    /// - The caller must not hold a spinlock: this call may sleep, and other threads would spin
    ///   until it wakes.
    /// - A signal handler must not call this.
    pub fn wait(&self) {
        self.wait_until(None);
    }

    /// As [`RawCompletion::wait`], or gives up when `deadline` (nanoseconds of [`Platform::now`];
    /// none: never) has come. True if it was completed.
    ///
    /// - The rules of [`Self::wait`] apply.
    pub fn wait_until(&self, deadline: Option<u64>) -> bool {
        let mut state = self.state.lock();
        if state.take() {
            return true;
        }
        let waiter = Waiter::new();
        // SAFETY: this thread sleeps with `waiter` below, and `waiter` does not move before that
        // has returned.
        unsafe { state.waiters.push(&waiter) };
        drop(state);
        // SAFETY: `push` above put `waiter` into the queue of `state`.
        unsafe { waiter.sleep(&self.state, |state| &state.waiters, deadline) }
    }

    /// Uses up one [`RawCompletion::complete`] if there is any (the kernel's
    /// `try_wait_for_completion`).
    ///
    /// - Any thread may call this: it does not wait for a completion.
    pub fn try_wait(&self) -> bool {
        self.state.lock().take()
    }

    /// Completes the wait of the longest waiter, or of the next one to come.
    ///
    /// - Any thread may call this. A signal handler must not: it may have interrupted a change of
    ///   the wait list, and would wait for ever.
    /// - The caller must not touch the completion afterwards, if the waiter may free it.
    pub fn complete(&self) {
        let mut state = self.state.lock();
        let first = state.waiters.take_first();
        if first.is_empty() && state.done != ALL {
            state.done += 1;
        }
        drop(state);
        first.wake();
    }

    /// Completes all waits, also those to come, until [`RawCompletion::reinit`].
    ///
    /// - The rules of [`Self::complete`] apply.
    pub fn complete_all(&self) {
        let mut state = self.state.lock();
        state.done = ALL;
        let all = state.waiters.take_all();
        drop(state);
        all.wake();
    }

    /// Resets the completion to "nothing is done". No thread may wait or complete meanwhile.
    ///
    /// - No thread may wait or complete meanwhile: a wait that was completed could begin again.
    pub fn reinit(&self) {
        self.state.lock().done = 0;
    }

    /// Whether a wait would return at once.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    pub fn is_done(&self) -> bool {
        self.state.lock().done != 0
    }
}

impl<P: Platform> State<P> {
    fn take(&mut self) -> bool {
        let done = self.done != 0;
        if done && self.done != ALL {
            self.done -= 1;
        }
        done
    }
}

#[cfg(feature = "std")]
impl RawCompletion<crate::platform::linux::Linux> {
    /// Nothing is done yet; for statics.
    pub const fn new() -> Self {
        let word = core::sync::atomic::AtomicU32::new(0);
        Self { state: WaitLock::from_word(word, State { done: 0, waiters: Queue::new() }) }
    }
}

#[cfg(feature = "std")]
impl Default for RawCompletion<crate::platform::linux::Linux> {
    fn default() -> Self {
        Self::new()
    }
}
