//! C types and the locks that lie in them.

/// States that the C type holds the lock: they are of one size and alignment, which are part of the
/// ABI.
macro_rules! holds {
    ($c:ty: $lock:ty) => {
        const _: () = assert!(
            size_of::<$c>() == size_of::<$lock>() && align_of::<$c>() == align_of::<$lock>(),
            "the C type's size and alignment are not its lock's: change the type, and the soname in build.rs"
        );

        // SAFETY: the sizes are the same, and a lock is valid if zeroed, which tests/clients.rs
        // holds it to.
        unsafe impl $crate::holds::Holds for $c {
            type Lock = $lock;
        }
    };
}

pub(crate) use holds;

/// A C type, in which a lock lies.
///
/// # Safety
/// It is of the lock's size and alignment, and zeros are a lock, or one that refuses to be used.
pub unsafe trait Holds {
    /// The lock.
    type Lock: 'static;

    /// The lock in it.
    ///
    /// # Safety
    /// It is there, zeroed or in use, and stays for `'a`.
    #[inline(always)]
    unsafe fn lock<'a>(this: *mut Self) -> &'a Self::Lock
    where
        Self: Sized,
    {
        // SAFETY: by contract a lock is there and stays for `'a`, and the type's size and alignment
        // are the lock's.
        unsafe { &*this.cast() }
    }
}
