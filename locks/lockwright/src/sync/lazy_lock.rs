//! `std::sync::LazyLock`.

use core::cell::Cell;
use core::fmt;
use core::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};

use super::OnceLock;

/// As [`std::sync::LazyLock`].
pub struct LazyLock<T, F = fn() -> T> {
    value: OnceLock<T>,
    /// The thread that initialises the value takes it.
    init: Cell<Option<F>>,
}

// SAFETY: one thread at a time is in `OnceLock::get_or_init`, and only there `init` is touched.
unsafe impl<T: Send + Sync, F: Send> Sync for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// A value that `f` makes when it is first asked for.
    pub const fn new(f: F) -> Self {
        Self { value: OnceLock::new(), init: Cell::new(Some(f)) }
    }

    /// Makes the value if nobody has.
    ///
    /// - The function that makes the value must not use the same [`LazyLock`]: it would wait for
    ///   ever.
    /// - The caller must not hold a lock that this function takes in another thread: the two would
    ///   wait for each other.
    ///
    /// # Panics
    /// If making it panics, or did.
    #[inline]
    pub fn force(this: &Self) -> &T {
        this.value.get_or_init(|| match this.init.take() {
            Some(init) => init(),
            None => panic!("LazyLock instance has previously been poisoned"),
        })
    }
}

impl<T, F> LazyLock<T, F> {
    /// The value, if somebody has made it.
    ///
    /// ```
    /// use lockwright::sync::LazyLock;
    ///
    /// let answer = LazyLock::new(|| 42);
    /// assert_eq!(LazyLock::get(&answer), None);
    /// assert_eq!(*answer, 42);
    /// assert_eq!(LazyLock::get(&answer), Some(&42));
    /// ```
    #[inline]
    pub fn get(this: &Self) -> Option<&T> {
        this.value.get()
    }

    /// The value, if somebody has made it.
    #[inline]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        this.value.get_mut()
    }
}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// The value, made if nobody has.
    ///
    /// ```
    /// use lockwright::sync::LazyLock;
    ///
    /// let mut answer = LazyLock::new(|| 41);
    /// *LazyLock::force_mut(&mut answer) += 1;
    /// assert_eq!(*answer, 42);
    /// ```
    ///
    /// # Panics
    /// If making it panics, or did.
    pub fn force_mut(this: &mut Self) -> &mut T {
        Self::force(this);
        this.value.get_mut().expect("made above")
    }
}

// As std's: a panic leaves it without a value.
impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        Self::force(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    fn default() -> Self {
        Self::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_tuple("LazyLock");
        match self.value.get() {
            Some(value) => out.field(value),
            None => out.field(&format_args!("<uninit>")),
        };
        out.finish()
    }
}
