//! A turn at a semaphore that goes up again when it is dropped.

use super::RawSemaphore;
use crate::platform::Platform;

impl<P: Platform> RawSemaphore<P> {
    /// Goes down, and waits for that as long as it takes. The guard goes up when it is dropped,
    /// in whichever thread.
    ///
    /// ```
    /// use lockwright::locks::Semaphore;
    ///
    /// static CONNECTIONS: Semaphore = Semaphore::new(2);
    /// let first = CONNECTIONS.acquire();
    /// let second = CONNECTIONS.acquire();
    /// assert!(CONNECTIONS.try_acquire().is_none());
    /// drop(first);
    /// assert!(CONNECTIONS.try_acquire().is_some());
    /// ```
    ///
    /// - The rules of [`Self::down`] apply. A guard that is forgotten never goes up.
    pub fn acquire(&self) -> SemaphoreGuard<'_, P> {
        self.down();
        SemaphoreGuard(self)
    }

    /// As [`RawSemaphore::acquire`], if that needs no waiting.
    ///
    /// - The rules of [`Self::try_down`] apply.
    pub fn try_acquire(&self) -> Option<SemaphoreGuard<'_, P>> {
        self.try_down().then(|| SemaphoreGuard(self))
    }

    /// As [`RawSemaphore::acquire`], or gives up when `deadline` (nanoseconds of
    /// [`Platform::now`]; none: never) has come.
    ///
    /// - The rules of [`Self::down_until`] apply.
    pub fn acquire_until(&self, deadline: Option<u64>) -> Option<SemaphoreGuard<'_, P>> {
        self.down_until(deadline).then(|| SemaphoreGuard(self))
    }
}

/// Has gone down at a semaphore, and goes up when it is dropped.
#[must_use = "if unused the semaphore goes up at once"]
pub struct SemaphoreGuard<'a, P: Platform>(&'a RawSemaphore<P>);

impl<P: Platform> SemaphoreGuard<'_, P> {
    /// Does not go up: that is left to a later [`RawSemaphore::up`], or the semaphore has one fewer
    /// from now on.
    ///
    /// ```
    /// use lockwright::locks::Semaphore;
    ///
    /// let jobs = Semaphore::new(1);
    /// jobs.acquire().forget();
    /// assert!(jobs.try_acquire().is_none());
    /// jobs.up();
    /// assert!(jobs.try_acquire().is_some());
    /// ```
    pub fn forget(self) {
        core::mem::forget(self);
    }
}

impl<P: Platform> Drop for SemaphoreGuard<'_, P> {
    fn drop(&mut self) {
        self.0.up();
    }
}
