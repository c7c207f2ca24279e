//! `std::sync::Condvar`.

use core::fmt;
use core::time::Duration;
use std::sync::{LockResult, PoisonError};
use std::time::Instant;

use super::MutexGuard;
use crate::hybrid_mutex::RawHybridMutex;
use crate::platform::linux::Linux;
use crate::traced::TracedCondvar;

type Raw = TracedCondvar<crate::condvar::RawCondvar<Linux, RawHybridMutex<Linux>>>;

/// As [`std::sync::Condvar`].
pub struct Condvar {
    inner: lock_api::Condvar<Raw>,
}

/// As [`std::sync::WaitTimeoutResult`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// The wait ended because it had lasted that long.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// Nobody waits.
    pub const fn new() -> Self {
        Self { inner: lock_api::Condvar::new() }
    }

    /// Unlocks the mutex, waits to be notified, and locks it again.
    ///
    /// - The caller must check its condition again afterwards: another thread may have changed it
    ///   first. [`Self::wait_while`] does.
    /// - All threads that wait at the same time must pass guards of the same mutex.
    /// - The caller must not hold another lock that the notifying thread needs: the two would wait
    ///   for each other.
    ///
    /// # Errors
    /// The mutex is poisoned: the error has the guard.
    pub fn wait<'a, T>(&self, mut guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        guard.with_inner(|inner| self.inner.wait(inner));
        guard.poison().check(guard)
    }

    /// As [`Condvar::wait`], again and again while `condition` says so.
    ///
    /// - The rules of [`Self::wait`] apply.
    /// - `condition` must not lock the same mutex: the caller holds it.
    ///
    /// # Errors
    /// The mutex is poisoned: the error has the guard.
    pub fn wait_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'a, T>> {
        while condition(&mut guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// As [`Condvar::wait`], for at most so long.
    ///
    /// - The rules of [`Self::wait`] apply. The mutex is locked again in any case, which can take
    ///   longer than the timeout.
    ///
    /// # Errors
    /// The mutex is poisoned: the error has the guard.
    pub fn wait_timeout<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let timed_out = guard.with_inner(|inner| self.inner.wait_for(inner, timeout)).timed_out();
        guard.poison().check((guard, WaitTimeoutResult(timed_out)))
    }

    /// As [`Condvar::wait_timeout`], for at most so many milliseconds. False with the guard: the
    /// wait ended because it had lasted that long.
    ///
    /// ```
    /// use lockwright::sync::{Condvar, Mutex};
    ///
    /// let (mutex, condvar) = (Mutex::new(1), Condvar::new());
    /// let (guard, notified) = condvar.wait_timeout_ms(mutex.lock().unwrap(), 1).unwrap();
    /// assert_eq!((*guard, notified), (1, false));
    /// ```
    ///
    /// - The rules of [`Self::wait_timeout`] apply.
    ///
    /// # Errors
    /// The mutex is poisoned: the error has the guard.
    pub fn wait_timeout_ms<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        ms: u32,
    ) -> LockResult<(MutexGuard<'a, T>, bool)> {
        let notified =
            |(guard, result): (MutexGuard<'a, T>, WaitTimeoutResult)| (guard, !result.timed_out());
        match self.wait_timeout(guard, Duration::from_millis(ms.into())) {
            Ok(waited) => Ok(notified(waited)),
            Err(error) => Err(PoisonError::new(notified(error.into_inner()))),
        }
    }

    /// As [`Condvar::wait_while`], for at most so long.
    ///
    /// - The rules of [`Self::wait_while`] and [`Self::wait_timeout`] apply.
    ///
    /// # Errors
    /// The mutex is poisoned: the error has the guard.
    pub fn wait_timeout_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        timeout: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let begun = Instant::now();
        while condition(&mut guard) {
            let Some(left) = timeout.checked_sub(begun.elapsed()) else {
                return Ok((guard, WaitTimeoutResult(true)));
            };
            guard = self
                .wait_timeout(guard, left)
                .map_err(|error| {
                    let (guard, _) = error.into_inner();
                    PoisonError::new((guard, WaitTimeoutResult(false)))
                })?
                .0;
        }
        Ok((guard, WaitTimeoutResult(false)))
    }

    /// Wakes one who waits.
    ///
    /// - Any thread may call this. It should change the condition with the mutex locked; it may
    ///   notify after it has unlocked the mutex.
    /// - A signal handler must not call this: it may have interrupted a change of the wait list.
    pub fn notify_one(&self) {
        self.inner.notify_one();
    }

    /// Wakes all who wait.
    ///
    /// - The rules of [`Self::notify_one`] apply.
    pub fn notify_all(&self) {
        self.inner.notify_all();
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

// As std's.
impl std::panic::UnwindSafe for Condvar {}
impl std::panic::RefUnwindSafe for Condvar {}
