//! Annotations of a program's locks; as `lockwright.h` for C and C++.
//!
//! Under `lockwright check` and `lockwright meter` these functions reach the library that watches
//! the program; without it they do nothing. Rust's own locks are made of futexes, which the tool
//! does not see: [`Lock`] tells it of any lock, acquisition by acquisition.
//!
//! ```
//! use lockwright::annotate::{self, Flags, Lock};
//! use std::sync::{Mutex, MutexGuard};
//!
//! struct Watched<T> {
//!     told: Lock,
//!     inner: Mutex<T>,
//! }
//!
//! struct Guard<'a, T> {
//!     told: &'a Lock,
//!     inner: Option<MutexGuard<'a, T>>,
//! }
//!
//! impl<T> Watched<T> {
//!     fn lock(&self) -> Guard<'_, T> {
//!         self.told.acquire(Flags::EXCLUSIVE);
//!         let inner = self.inner.try_lock().unwrap_or_else(|_| {
//!             self.told.contended();
//!             self.inner.lock().unwrap()
//!         });
//!         self.told.acquired();
//!         Guard { told: &self.told, inner: Some(inner) }
//!     }
//! }
//!
//! impl<T> Drop for Guard<'_, T> {
//!     fn drop(&mut self) {
//!         self.told.release();
//!         self.inner = None;
//!     }
//! }
//!
//! let journal = Watched { told: Lock::new(), inner: Mutex::new(0) };
//! journal.told.set_name("journal");
//! **journal.lock().inner.as_mut().unwrap() += 1;
//! annotate::assert_not_held(&journal.told);
//! ```

mod lock;
pub(crate) mod tool;

pub use lock::{Flags, Lock};
#[cfg(feature = "lock_api")]
pub(crate) use tool::is_known_off;
pub use tool::is_off;

use core::ffi::c_void;

/// An object that can be annotated.
///
/// # Safety
/// `address` is that of an object of the sort that `SORT` says, for as long as `self` lives.
pub unsafe trait Subject {
    #[doc(hidden)]
    const SORT: u32;
    #[doc(hidden)]
    fn address(&self) -> *const c_void;
}

// SAFETY: a pointer to itself, of the sort that lockwright.h has for it.
unsafe impl Subject for libc::pthread_mutex_t {
    const SORT: u32 = 1;
    #[inline(always)]
    fn address(&self) -> *const c_void {
        core::ptr::from_ref(self).cast()
    }
}

// SAFETY: the address is that of `self`, and lockwright.h has sort 2 for this type.
unsafe impl Subject for libc::pthread_rwlock_t {
    const SORT: u32 = 2;
    #[inline(always)]
    fn address(&self) -> *const c_void {
        core::ptr::from_ref(self).cast()
    }
}

/// The way in which threads wait for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum WaitType {
    /// It spins.
    Spin = 1,
    /// It sleeps.
    Sleep = 2,
}

/// Names the lock. All locks of one name are one class, and reports call them by it. To be called
/// before the lock is shared.
#[inline(always)]
pub fn set_name<T: Subject>(lock: &T, name: &str) {
    if let Some(tell) = tool::set_name() {
        // SAFETY: the tool's function; the address is that of an object of this sort.
        unsafe { tell(lock.address(), T::SORT, name.as_ptr().cast(), name.len()) };
    }
}

/// Puts the lock into a class of its own within its class, as the levels of a tree: 1, 2, ...; 0 is
/// the class itself.
#[inline(always)]
pub fn set_subclass<T: Subject>(lock: &T, subclass: u16) {
    if let Some(tell) = tool::set_subclass() {
        // SAFETY: the tool defines this function so; the address is that of a live object of sort
        // `SORT`.
        unsafe { tell(lock.address(), T::SORT, subclass.into()) };
    }
}

/// While a lock of the class of `nest` is held, several locks of the class of `lock` may be taken,
/// in any order.
#[inline(always)]
pub fn set_nest_lock<T: Subject, N: Subject>(lock: &T, nest: &N) {
    if let Some(tell) = tool::set_nest_lock() {
        // SAFETY: the tool defines this function so; both addresses are those of live objects of
        // their sorts.
        unsafe { tell(lock.address(), T::SORT, nest.address(), N::SORT) };
    }
}

/// Says what waiters for locks of this lock's class do: taking a lock that sleeps inside one that
/// spins is reported. To be called before the lock is first taken.
#[inline(always)]
pub fn set_wait_type<T: Subject>(lock: &T, wait: WaitType) {
    if let Some(tell) = tool::set_wait_type() {
        // SAFETY: the tool defines this function so; the address is that of a live object of sort
        // `SORT`.
        unsafe { tell(lock.address(), T::SORT, wait as u32) };
    }
}

/// Declares that locks with these names are taken in this order.
#[inline(always)]
pub fn lock_order(names: &[&str]) {
    if let Some(tell) = tool::lock_order() {
        for pair in names.windows(2) {
            let pair = [tool::Name::new(pair[0]), tool::Name::new(pair[1])];
            // SAFETY: the tool's function; two texts.
            unsafe { tell(pair.as_ptr(), pair.len()) };
        }
    }
}

/// The calling thread holds the lock here; if not, that is reported, and the program goes on.
#[inline(always)]
pub fn assert_held<T: Subject>(lock: &T) {
    assert(lock, 1);
}

/// The calling thread does not hold the lock here.
#[inline(always)]
pub fn assert_not_held<T: Subject>(lock: &T) {
    assert(lock, 0);
}

#[inline(always)]
fn assert<T: Subject>(lock: &T, held: u32) {
    if let Some(tell) = tool::assert_held() {
        // SAFETY: the tool defines this function so; the address is that of a live object of sort
        // `SORT`.
        unsafe { tell(lock.address(), T::SORT, held) };
    }
}

/// The result of [`pin`], for [`unpin`].
#[derive(Debug)]
#[must_use = "a pin lasts until it is taken back with `unpin`"]
pub struct Cookie(u32);

/// From here to [`unpin`] the calling thread must not release the lock, not even for a moment.
#[inline(always)]
pub fn pin<T: Subject>(lock: &T) -> Cookie {
    Cookie(match tool::pin() {
        // SAFETY: the tool defines this function so; the address is that of a live object of sort
        // `SORT`.
        Some(tell) => unsafe { tell(lock.address(), T::SORT) as u32 },
        None => 0,
    })
}

/// The lock may be released again.
#[inline(always)]
pub fn unpin<T: Subject>(lock: &T, cookie: Cookie) {
    if let Some(tell) = tool::unpin() {
        // SAFETY: the tool defines this function so; the address is that of a live object of sort
        // `SORT`.
        unsafe { tell(lock.address(), T::SORT, cookie.0) };
    }
}

/// A context that other code must not be in, or enter, with certain locks held: memory reclaim, a
/// callback, a transaction. It lasts as long as this lives.
#[derive(Debug)]
pub struct Resource<'a>(&'a str);

impl<'a> Resource<'a> {
    /// Enters the context.
    #[inline(always)]
    pub fn enter(name: &'a str) -> Self {
        if let Some(tell) = tool::resource_acquire() {
            // SAFETY: the tool's function; a text.
            unsafe { tell(name.as_ptr().cast(), name.len()) };
        }
        Self(name)
    }
}

impl Drop for Resource<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(tell) = tool::resource_release() {
            // SAFETY: the tool defines this function so, and gets the pointer and length of a live
            // string.
            unsafe { tell(self.0.as_ptr().cast(), self.0.len()) };
        }
    }
}

/// The thread is about to wait for something that another thread brings about; `object` stands for
/// it.
#[inline(always)]
pub fn wait_begin<T>(object: &T) {
    if let Some(tell) = tool::wait_begin() {
        // SAFETY: the tool's function; only the address is used.
        unsafe { tell(core::ptr::from_ref(object).cast()) };
    }
}

/// The wait is over.
#[inline(always)]
pub fn wait_end<T>(object: &T) {
    if let Some(tell) = tool::wait_end() {
        // SAFETY: the tool defines this function so, and uses the address only as an identity.
        unsafe { tell(core::ptr::from_ref(object).cast()) };
    }
}

/// The thread brings about what others wait for, with the locks held that it needed for it.
#[inline(always)]
pub fn complete<T>(object: &T) {
    if let Some(tell) = tool::complete() {
        // SAFETY: the tool defines this function so, and uses the address only as an identity.
        unsafe { tell(core::ptr::from_ref(object).cast()) };
    }
}
