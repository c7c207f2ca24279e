//! The condition variable: a wait queue for what is guarded by a mutex, as POSIX has it.
//!
//! The kernel has wait queues with a lock of their own instead. Here the queue's lock is taken
//! before the mutex is released: a thread that changes the condition under the mutex finds every
//! thread that saw the old condition in the queue.
//!
//! No wake comes without a notification; but a woken thread may find that another thread changed
//! the condition again before it got the mutex.
//!
//! The threads that [`RawCondvar::notify_all`] wakes all want the mutex. Each wakes the next one when it has the mutex.
//! So they neither fight for the mutex nor fall asleep again in its queue, and the notifier pays for one wake. A wait
//! whose deadline comes meanwhile ends in its turn, as notified.

use core::marker::PhantomData;

use crate::exclusive::Exclusive;
use crate::mutex::RawMutex;
use crate::platform::Platform;
use crate::swait::{Queue, Waiter};
use crate::wait_lock::WaitLock;

/// A condition variable of mutexes of type `M`.
///
/// # Rules
/// - The child of a fork must not use a lock that another thread held or waited for at the fork.
///   Its wait list leads to threads that the child does not have.
///
/// # Guarantees
/// - Ordering: that of the mutex, which guards the condition.
/// - Fairness: first come, first woken; but another thread may take the mutex before a woken
///   thread.
/// - Source: POSIX; `kernel/sched/swait.c` for the queue.
pub struct RawCondvar<P: Platform, M = RawMutex<P>> {
    waiters: WaitLock<P, Queue<P>>,
    mutexes: PhantomData<fn(&M)>,
}

impl<P: Platform, M: Exclusive> RawCondvar<P, M> {
    /// Nobody waits.
    pub fn new_in() -> Self {
        Self { waiters: WaitLock::new(Queue::new()), mutexes: PhantomData }
    }

    /// Releases the mutex, waits for a notification as long as it takes, and takes the mutex again.
    ///
    /// - The caller must check the condition again afterwards: another thread may have changed it
    ///   first.
    /// - The caller must not hold any other lock that the notifying thread needs: the two would
    ///   wait for each other.
    /// - All threads that wait at the same time must pass the same mutex.
    /// - A signal handler must not call this.
    ///
    /// # Safety
    /// The calling thread holds the mutex.
    pub unsafe fn wait(&self, mutex: &M) {
        // SAFETY: by contract the caller holds `mutex`, as `wait_until` demands.
        unsafe { self.wait_until(mutex, None) };
    }

    /// As [`RawCondvar::wait`], or gives up when `deadline` (nanoseconds of [`Platform::now`];
    /// none: never) has come, and takes the mutex again all the same. True if it was notified.
    ///
    /// - The rules of [`Self::wait`] apply.
    ///
    /// # Safety
    /// The calling thread holds the mutex.
    pub unsafe fn wait_until(&self, mutex: &M, deadline: Option<u64>) -> bool {
        let waiter = Waiter::new();
        // SAFETY: this thread sleeps with `waiter` below, and `waiter` does not move before that
        // has returned.
        unsafe { self.waiters.lock().push(&waiter) };
        // SAFETY: by this function's contract the calling thread holds `mutex`.
        unsafe { mutex.unlock() };
        // SAFETY: `push` above put `waiter` into the queue of `self.waiters`.
        let notified = unsafe { waiter.sleep(&self.waiters, |waiters| waiters, deadline) };
        mutex.lock();
        waiter.wake_next();
        notified
    }

    /// Wakes the longest waiter. Returns whether there was one.
    ///
    /// - Any thread may call this. It should change the condition with the mutex held; it may
    ///   notify after it has released the mutex.
    /// - A signal handler must not call this: it may have interrupted a change of the wait list,
    ///   and would wait for ever.
    pub fn notify_one(&self) -> bool {
        let first = self.waiters.lock().take_first();
        let waited = !first.is_empty();
        first.wake();
        waited
    }

    /// Wakes all present waiters, one after another. How many they are.
    ///
    /// - The rules of [`Self::notify_one`] apply.
    pub fn notify_all(&self) -> usize {
        let all = self.waiters.lock().take_all();
        let waited = all.count();
        all.wake_in_turn();
        waited
    }
}

#[cfg(feature = "std")]
impl<M> RawCondvar<crate::platform::linux::Linux, M> {
    /// Nobody waits; for statics.
    pub const fn new() -> Self {
        let word = core::sync::atomic::AtomicU32::new(0);
        Self { waiters: WaitLock::from_word(word, Queue::new()), mutexes: PhantomData }
    }
}

#[cfg(feature = "std")]
impl<M> Default for RawCondvar<crate::platform::linux::Linux, M> {
    fn default() -> Self {
        Self::new()
    }
}
