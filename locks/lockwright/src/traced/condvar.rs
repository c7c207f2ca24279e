//! Condition variables of traced mutexes: a wait gives the mutex up and takes it again.

use lock_api::{RawCondvar, RawCondvarTimed, RawMutex, RawMutexTimed};

use super::Traced;
use crate::annotate::{Flags, is_off};

/// A raw condition variable for the traced mutex that is `C`'s.
#[derive(Debug)]
pub struct TracedCondvar<C>(C);

impl<C: RawCondvar> TracedCondvar<C> {
    /// Waits by `wait`, which gives the mutex up and takes it again.
    #[inline]
    fn around<T>(&self, mutex: &Traced<C::RawMutex>, wait: impl FnOnce(&C) -> T) -> T {
        if is_off() {
            return wait(&self.0);
        }
        mutex.told.release();
        let again = Again(mutex);
        let result = wait(&self.0);
        drop(again);
        result
    }
}

/// The mutex is held again once this is dropped, also by a panic.
struct Again<'a, R>(&'a Traced<R>);

impl<R> Drop for Again<'_, R> {
    fn drop(&mut self) {
        // It may have waited for that, with what else is held: so it orders as any acquisition
        // does.
        self.0.told.acquire(Flags::EXCLUSIVE);
        self.0.told.acquired();
    }
}

// SAFETY: waits as the one inside does.
unsafe impl<C: RawCondvar> RawCondvar for TracedCondvar<C> {
    const INIT: Self = Self(C::INIT);
    type RawMutex = Traced<C::RawMutex>;

    /// # Safety
    /// The contract is that of `RawCondvar::wait`.
    #[inline]
    unsafe fn wait(
        &self,
        mutex: &Traced<C::RawMutex>,
        guard: &mut <C::RawMutex as RawMutex>::Guard,
    ) {
        // SAFETY: by the trait's contract the caller holds `mutex`, so it holds `mutex.raw` by this
        // guard.
        self.around(mutex, |condvar| unsafe { condvar.wait(&mutex.raw, guard) });
    }

    #[inline]
    fn notify_one(&self) -> bool {
        self.0.notify_one()
    }

    #[inline]
    fn notify_all(&self) -> usize {
        self.0.notify_all()
    }
}

// SAFETY: it waits as the condition variable inside does, and reporting does not change that.
unsafe impl<C: RawCondvarTimed> RawCondvarTimed for TracedCondvar<C>
where
    C::RawMutex: RawMutexTimed,
{
    fn checked_duration_to_instant(
        timeout: &<C::RawMutex as RawMutexTimed>::Duration,
    ) -> Option<<C::RawMutex as RawMutexTimed>::Instant> {
        C::checked_duration_to_instant(timeout)
    }

    /// # Safety
    /// The contract is that of `RawCondvarTimed::wait_until`.
    unsafe fn wait_until(
        &self,
        mutex: &Traced<C::RawMutex>,
        guard: &mut <C::RawMutex as RawMutex>::Guard,
        timeout: &<C::RawMutex as RawMutexTimed>::Instant,
    ) -> bool {
        // SAFETY: by the trait's contract the caller holds `mutex`, so it holds `mutex.raw` by this
        // guard.
        self.around(mutex, |condvar| unsafe { condvar.wait_until(&mutex.raw, guard, timeout) })
    }
}
