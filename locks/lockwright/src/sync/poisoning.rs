//! The common part of `Mutex` and `RwLock`: a value under a lock of the crate `lock_api` that can
//! be poisoned, and guards that poison it.

/// The lock's type and all that does not depend on how it is locked. `$inner`, which has the value,
/// is looked at by `$try_look`.
macro_rules! poisoning_lock {
    ($(#[$doc:meta])* $lock:ident, $inner:ty, $value:ident, $new:path, $try_look:ident,
     $(#[$is_poisoned:meta])*) => {
        $(#[$doc])*
        #[derive(Default)]
        pub struct $lock<$value: ?Sized> {
            poison: Flag,
            inner: $inner,
        }

        impl<$value> $lock<$value> {
            /// A free lock around `value`.
            #[inline]
            pub const fn new(value: $value) -> Self {
                Self { poison: Flag::new(), inner: $new(value) }
            }

            /// The value.
            ///
            /// # Errors
            /// It is poisoned: the error has the value.
            pub fn into_inner(self) -> LockResult<$value> {
                let Self { poison, inner } = self;
                poison.check(inner.into_inner())
            }
        }

        impl<$value: ?Sized> $lock<$value> {
            $(#[$is_poisoned])*
            pub fn is_poisoned(&self) -> bool {
                self.poison.get()
            }

            /// Takes that back.
            pub fn clear_poison(&self) {
                self.poison.clear();
            }

            /// The value, which nobody else can have meanwhile.
            ///
            /// # Errors
            /// It is poisoned: the error has the value.
            pub fn get_mut(&mut self) -> LockResult<&mut $value> {
                self.poison.check(self.inner.get_mut())
            }
        }

        impl<$value> From<$value> for $lock<$value> {
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }

        impl<$value: ?Sized + fmt::Debug> fmt::Debug for $lock<$value> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let poisoned = self.is_poisoned();
                let mut out = f.debug_struct(stringify!($lock));
                match self.inner.$try_look() {
                    Some(guard) => out.field("data", &&*guard),
                    None => out.field("data", &format_args!("<locked>")),
                };
                out.field("poisoned", &poisoned).finish_non_exhaustive()
            }
        }

        // As std's: a panic that leaves the value half changed leaves it poisoned.
        impl<$value: ?Sized> std::panic::UnwindSafe for $lock<$value> {}
        impl<$value: ?Sized> std::panic::RefUnwindSafe for $lock<$value> {}

        // SAFETY: that of the lock inside.
        unsafe impl<$value: ?Sized> Subject for $lock<$value> {
            const SORT: u32 = Lock::SORT;
            #[inline(always)]
            fn address(&self) -> *const core::ffi::c_void {
                self.inner.address()
            }
        }
    };
}

/// The guards of the value: one that only `reads`, and one that `writes`.
macro_rules! guard {
    (reads $guard:ident) => {
        guard!(both $guard);

        // As std's: a panic in its thread shows the value as it is.
        impl<T: ?Sized + std::panic::RefUnwindSafe> std::panic::UnwindSafe for $guard<'_, T> {}
        impl<T: ?Sized + std::panic::RefUnwindSafe> std::panic::RefUnwindSafe for $guard<'_, T> {}
    };
    (writes $guard:ident) => {
        impl<T: ?Sized> DerefMut for $guard<'_, T> {
            #[inline]
            fn deref_mut(&mut self) -> &mut T {
                &mut self.inner
            }
        }

        guard!(both $guard);
        guard!(poisons $guard);
    };
    // One that knows where the value is.
    (writes $guard:ident, |$this:ident| $value:expr) => {
        impl<T: ?Sized> Deref for $guard<'_, T> {
            type Target = T;

            #[inline]
            fn deref(&self) -> &T {
                let $this = self;
                // SAFETY: the guard has the lock, and is borrowed as long as this.
                unsafe { &*$value }
            }
        }

        impl<T: ?Sized> DerefMut for $guard<'_, T> {
            #[inline]
            fn deref_mut(&mut self) -> &mut T {
                let $this = self;
                // SAFETY: the guard has the lock, which excludes everybody else, and is borrowed
                // mutably as long as this.
                unsafe { &mut *$value }
            }
        }

        guard!(shows $guard);
        guard!(poisons $guard);
    };
    (poisons $guard:ident) => {

        // As std's: a panic in its thread poisons the lock.
        impl<T: ?Sized> std::panic::UnwindSafe for $guard<'_, T> {}
        impl<T: ?Sized> std::panic::RefUnwindSafe for $guard<'_, T> {}
    };
    (both $guard:ident) => {
        impl<T: ?Sized> Deref for $guard<'_, T> {
            type Target = T;

            #[inline]
            fn deref(&self) -> &T {
                &self.inner
            }
        }

        guard!(shows $guard);
    };
    (shows $guard:ident) => {
        // SAFETY: through a reference to it the value is reached to read only.
        unsafe impl<T: ?Sized + Sync> Sync for $guard<'_, T> {}

        impl<T: ?Sized + fmt::Debug> fmt::Debug for $guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + fmt::Display> fmt::Display for $guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}

pub(super) use {guard, poisoning_lock};
