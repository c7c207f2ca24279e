//! `std::sync::ReentrantLock`, as it is about to be.

use core::fmt;
use core::ops::Deref;

use super::RawMutex;
use crate::annotate::{Lock, Subject};
use crate::locks::ThreadId;

/// As [`std::sync::ReentrantLock`](https://doc.rust-lang.org/std/sync/struct.ReentrantLock.html): a
/// mutex that its owner may lock again. It is not poisoned, as its value is reached to read.
///
/// ```
/// use std::cell::RefCell;
///
/// let log = lockwright::sync::ReentrantLock::new(RefCell::new(Vec::new()));
/// let outer = log.lock();
/// log.lock().borrow_mut().push("inside");
/// assert_eq!(outer.borrow().len(), 1);
/// ```
pub struct ReentrantLock<T: ?Sized> {
    inner: lock_api::ReentrantMutex<RawMutex, ThreadId, T>,
}

/// As [`std::sync::ReentrantLockGuard`](https://doc.rust-lang.org/std/sync/struct.ReentrantLockGuard.html).
#[must_use = "if unused the ReentrantLock will immediately unlock"]
pub struct ReentrantLockGuard<'a, T: ?Sized> {
    inner: lock_api::ReentrantMutexGuard<'a, RawMutex, ThreadId, T>,
}

impl<T> ReentrantLock<T> {
    /// A free lock around `value`.
    pub const fn new(value: T) -> Self {
        Self { inner: lock_api::ReentrantMutex::new(value) }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> ReentrantLock<T> {
    /// Waits for the lock, unless this thread has it, and locks it.
    ///
    /// - The owner may call this again. It must drop as many guards, in any order.
    /// - A signal handler must not call this: it shares its thread's hold, and finds data that the
    ///   thread was changing.
    ///
    /// # Panics
    /// If this thread has locked it more often than can be counted.
    pub fn lock(&self) -> ReentrantLockGuard<'_, T> {
        ReentrantLockGuard { inner: self.inner.lock() }
    }

    /// Locks it if it is free, or this thread has it.
    ///
    /// - Any thread may call this: it does not wait. The owner always gets a guard.
    pub fn try_lock(&self) -> Option<ReentrantLockGuard<'_, T>> {
        Some(ReentrantLockGuard { inner: self.inner.try_lock()? })
    }

    /// The value, which nobody else can have meanwhile.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut()
    }
}

// As std's: a panic may leave the value as it was in a cell only, which says so itself.
impl<T: std::panic::UnwindSafe + ?Sized> std::panic::UnwindSafe for ReentrantLock<T> {}
impl<T: std::panic::RefUnwindSafe + ?Sized> std::panic::RefUnwindSafe for ReentrantLock<T> {}

// SAFETY: that of the lock inside.
unsafe impl<T: ?Sized> Subject for ReentrantLock<T> {
    const SORT: u32 = Lock::SORT;
    #[inline(always)]
    fn address(&self) -> *const core::ffi::c_void {
        // SAFETY: only its address is used.
        unsafe { self.inner.raw() }.address()
    }
}

impl<T: Default> Default for ReentrantLock<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for ReentrantLock<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for ReentrantLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("ReentrantLock");
        match self.try_lock() {
            Some(guard) => out.field("data", &&*guard),
            None => out.field("data", &format_args!("<locked>")),
        };
        out.finish_non_exhaustive()
    }
}

impl<T: ?Sized> Deref for ReentrantLockGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for ReentrantLockGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for ReentrantLockGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
