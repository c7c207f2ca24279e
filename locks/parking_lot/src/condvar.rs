//! The condition variable: the real one, which releases the real mutex and takes it again. We
//! report both to the tool, as any other release and acquisition.

use core::fmt;
use core::time::Duration;
use std::time::Instant;

use lockwright::annotate::Flags;
use real_api::{RawCondvar as _, RawCondvarTimed as _};

use crate::raw_mutex::RawMutex;
use crate::{MutexGuard, no_guard};

/// Threads wait on it until others wake them.
pub struct Condvar(real::RawCondvar);

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Condvar { .. }")
    }
}

/// Whether a wait ended because its time was over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// It did.
    #[inline]
    pub fn timed_out(self) -> bool {
        self.0
    }
}

/// The mutex is held again once this is dropped, also by a panic.
struct Again<'a>(&'a RawMutex);

impl Drop for Again<'_> {
    fn drop(&mut self) {
        // It may have waited for that, with what else is held: so it orders as any acquisition
        // does.
        self.0.told.takes(Flags::EXCLUSIVE, || true, || true);
    }
}

impl Condvar {
    /// One that nobody waits on.
    #[inline]
    pub const fn new() -> Self {
        Self(<real::RawCondvar as real_api::RawCondvar>::INIT)
    }

    /// Wakes one thread. Says whether there was one.
    #[inline]
    pub fn notify_one(&self) -> bool {
        self.0.notify_one()
    }

    /// Wakes all threads. Says how many there were.
    #[inline]
    pub fn notify_all(&self) -> usize {
        self.0.notify_all()
    }

    /// Waits by `wait` with the real mutex, which is held.
    fn around<T: ?Sized, R>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        wait: impl FnOnce(&real::RawCondvar, &real::RawMutex) -> R,
    ) -> R {
        // SAFETY: it is not unlocked here, but by the wait, which locks it again.
        let raw = unsafe { MutexGuard::mutex(guard).raw() };
        raw.told.releases();
        let again = Again(raw);
        let result = wait(&self.0, &raw.real);
        drop(again);
        result
    }

    /// Waits until it is woken.
    #[inline]
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        // SAFETY: the guard says that the mutex is held.
        self.around(guard, |condvar, mutex| unsafe { condvar.wait(mutex, &mut no_guard()) });
    }

    /// As [`Self::wait`], until a time at most.
    #[inline]
    pub fn wait_until<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        timeout: Instant,
    ) -> WaitTimeoutResult {
        // SAFETY: the guard shows that this thread holds the mutex, and the wait takes it again.
        WaitTimeoutResult(self.around(guard, |condvar, mutex| unsafe {
            condvar.wait_until(mutex, &mut no_guard(), &timeout)
        }))
    }

    /// As [`Self::wait`], for a time at most.
    #[inline]
    pub fn wait_for<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        timeout: Duration,
    ) -> WaitTimeoutResult {
        match Instant::now().checked_add(timeout) {
            Some(end) => self.wait_until(guard, end),
            // So far off that it is never.
            None => {
                self.wait(guard);
                WaitTimeoutResult(false)
            }
        }
    }

    /// Waits as long as `condition` says so.
    #[inline]
    pub fn wait_while<T, F>(&self, guard: &mut MutexGuard<'_, T>, mut condition: F)
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut *guard) {
            self.wait(guard);
        }
    }

    /// As [`Self::wait_while`], until a time at most.
    pub fn wait_while_until<T, F>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: F,
        timeout: Instant,
    ) -> WaitTimeoutResult
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut *guard) {
            if self.wait_until(guard, timeout).timed_out() {
                return WaitTimeoutResult(condition(&mut *guard));
            }
        }
        WaitTimeoutResult(false)
    }

    /// As [`Self::wait_while`], for a time at most.
    #[inline]
    pub fn wait_while_for<T: ?Sized, F>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        condition: F,
        timeout: Duration,
    ) -> WaitTimeoutResult
    where
        F: FnMut(&mut T) -> bool,
    {
        match Instant::now().checked_add(timeout) {
            Some(end) => self.wait_while_until(guard, condition, end),
            // As above.
            None => {
                self.wait_while(guard, condition);
                WaitTimeoutResult(false)
            }
        }
    }
}
