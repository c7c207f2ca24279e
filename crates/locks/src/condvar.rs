//! The condition variable: a wait queue for what is guarded by a mutex, as POSIX has it.
//!
//! The kernel has wait queues with a lock of their own instead. Here the queue's lock is taken
//! before the mutex is released: who changes the condition under the mutex finds everybody in the
//! queue who has seen it otherwise.
//!
//! No wake comes without a notification; but who has been woken may find that another thread has
//! changed the condition again before it had the mutex.

use crate::mutex::RawMutex;
use crate::platform::Platform;
use crate::swait::{Queue, Waiter};
use crate::wait_lock::WaitLock;

/// A condition variable.
pub struct RawCondvar<P: Platform> {
    waiters: WaitLock<P, Queue<P>>,
}

impl<P: Platform> RawCondvar<P> {
    /// Nobody waits.
    pub fn new_in() -> Self {
        Self { waiters: WaitLock::new(Queue::new()) }
    }

    /// Releases the mutex, waits for a notification as long as it takes, and takes the mutex again.
    ///
    /// # Safety
    /// The calling thread holds the mutex.
    pub unsafe fn wait(&self, mutex: &RawMutex<P>) {
        // SAFETY: as our caller promises.
        unsafe { self.wait_until(mutex, None) };
    }

    /// As [`RawCondvar::wait`], or gives up when `deadline` (nanoseconds of [`Platform::now`];
    /// none: never) has come, and takes the mutex again all the same. True if it was notified.
    ///
    /// # Safety
    /// The calling thread holds the mutex.
    pub unsafe fn wait_until(&self, mutex: &RawMutex<P>, deadline: Option<u64>) -> bool {
        let waiter = Waiter::new();
        // SAFETY: it sleeps below.
        unsafe { self.waiters.lock().push(&waiter) };
        // SAFETY: as our caller promises.
        unsafe { mutex.unlock() };
        // SAFETY: inserted above.
        let notified = unsafe { waiter.sleep(&self.waiters, |waiters| waiters, deadline) };
        mutex.lock();
        notified
    }

    /// Wakes who has waited longest.
    pub fn notify_one(&self) {
        let first = self.waiters.lock().take_first();
        first.wake();
    }

    /// Wakes everybody.
    pub fn notify_all(&self) {
        let all = self.waiters.lock().take_all();
        all.wake();
    }
}

#[cfg(feature = "std")]
impl RawCondvar<crate::platform::linux::Linux> {
    /// Nobody waits; for statics.
    pub const fn new() -> Self {
        let word = core::sync::atomic::AtomicU32::new(0);
        Self { waiters: WaitLock::from_word(word, Queue::new()) }
    }
}

#[cfg(feature = "std")]
impl Default for RawCondvar<crate::platform::linux::Linux> {
    fn default() -> Self {
        Self::new()
    }
}
