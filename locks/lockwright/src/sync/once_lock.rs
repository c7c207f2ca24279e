//! `std::sync::OnceLock`.

use core::cell::UnsafeCell;
use core::fmt;
use core::mem::MaybeUninit;
use std::panic::{RefUnwindSafe, UnwindSafe};

use super::Once;

/// As [`std::sync::OnceLock`].
pub struct OnceLock<T> {
    once: Once,
    /// Initialised once `once` is completed.
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: a value that is set through one thread is seen, and may be dropped, by another.
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// Without a value.
    pub const fn new() -> Self {
        Self { once: Once::new(), value: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// The value, if it is there.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: completed: it is there, and does not change.
        self.once.is_completed().then(|| unsafe { (*self.value.get()).assume_init_ref() })
    }

    /// The value, if it is there.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: `once` is completed, so the value is there, and `&mut self` excludes other
        // references.
        self.once.is_completed().then(|| unsafe { self.value.get_mut().assume_init_mut() })
    }

    /// Gives it a value.
    ///
    /// - The caller may wait while another thread makes the value. It must not call this from
    ///   [`Self::get_or_init`]: it would wait for ever.
    ///
    /// # Errors
    /// It has one: the value is given back.
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("called once"));
        value.map_or(Ok(()), Err)
    }

    /// The value, which `f` makes if there is none.
    ///
    /// - `f` must not use the same cell, except by [`Self::get`]: it would wait for ever.
    /// - The caller must not hold a lock that `f` takes in another thread: the two would wait for
    ///   each other.
    ///
    /// # Panics
    /// If `f` does; it is without a value then.
    #[inline]
    pub fn get_or_init(&self, f: impl FnOnce() -> T) -> &T {
        match self.get() {
            Some(value) => value,
            None => self.init(f),
        }
    }

    #[cold]
    fn init(&self, f: impl FnOnce() -> T) -> &T {
        self.once.call_once_force(|_| {
            // SAFETY: one at a time, before anybody is given the value.
            unsafe { (*self.value.get()).write(f()) };
        });
        self.get().expect("initialised above")
    }

    /// The value, as soon as it is there: waits for another thread to make it.
    ///
    /// ```
    /// use lockwright::sync::OnceLock;
    ///
    /// static PORT: OnceLock<u16> = OnceLock::new();
    /// let server = std::thread::spawn(|| PORT.set(8080));
    /// assert_eq!(*PORT.wait(), 8080);
    /// server.join().unwrap().unwrap();
    /// ```
    ///
    /// - The thread that makes the value must not call this: it would wait for ever.
    /// - Some thread must make the value: this call does not.
    pub fn wait(&self) -> &T {
        self.once.wait_force();
        self.get().expect("its initialisation is over")
    }

    /// The value.
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }

    /// The value; it is without one then.
    pub fn take(&mut self) -> Option<T> {
        if !core::mem::take(&mut self.once).is_completed() {
            return None;
        }
        // SAFETY: it was there, and nobody will look for it any more.
        Some(unsafe { self.value.get_mut().assume_init_read() })
    }
}

// As std's: a panic leaves it without a value.
impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}

impl<T> Drop for OnceLock<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> Self {
        let lock = Self::new();
        let _ = lock.set(value);
        lock
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    fn clone(&self) -> Self {
        self.get().cloned().map_or_else(Self::new, Self::from)
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_tuple("OnceLock");
        match self.get() {
            Some(value) => out.field(value),
            None => out.field(&format_args!("<uninit>")),
        };
        out.finish()
    }
}
