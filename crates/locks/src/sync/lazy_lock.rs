//! `std::sync::LazyLock`.

use core::cell::Cell;
use core::fmt;
use core::ops::Deref;

use super::OnceLock;

/// As [`std::sync::LazyLock`].
pub struct LazyLock<T, F = fn() -> T> {
    value: OnceLock<T>,
    /// Taken by who initialises the value.
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
