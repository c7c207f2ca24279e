//! Locks that tell the tool of themselves: [`Traced`] around any raw lock of `lock_api`, ours,
//! parking_lot's or anyone's.
//!
//! Under `lockwright check` each acquisition counts for its order, under `lockwright meter` for its
//! times. Without the tool a lock costs one load of a static and one branch more than it does
//! untraced.
//!
//! ```
//! use lockwright::annotate;
//! use lockwright::traced::Traced;
//!
//! type Mutex<T> = lock_api::Mutex<Traced<parking_lot::RawMutex>, T>;
//!
//! static JOURNAL: Mutex<u32> = Mutex::new(0);
//!
//! annotate::set_name(&JOURNAL, "journal");
//! *JOURNAL.lock() += 1;
//! annotate::assert_not_held(&JOURNAL);
//! ```
//!
//! A lock without a name goes by the static that it is, or else by the place where it is first
//! acquired.

mod condvar;
mod mutex;
mod rwlock;
mod upgradable;

pub use condvar::TracedCondvar;

use core::ffi::c_void;

use lock_api::{Mutex, RwLock};

use crate::annotate::{self, Flags, Lock, Subject};

/// A raw lock that tells the tool what becomes of it.
///
/// `FAIR` means that readers of a reader-writer lock wait behind a waiting writer. Then a thread
/// that reads it twice can deadlock, and is reported. [`TracedFair`] is a name for that.
#[derive(Debug, Default)]
pub struct Traced<R, const FAIR: bool = false> {
    /// Known to the tool by its address.
    told: Lock,
    raw: R,
}

/// A [`Traced`] reader-writer lock whose readers wait behind a writer that waits: parking_lot's,
/// but not its `RawRwLockRecursive`; and all of [`crate::locks`] but `RwLock`.
///
/// ```
/// use lockwright::traced::TracedFair;
///
/// type RwLock<T> = lock_api::RwLock<TracedFair<parking_lot::RawRwLock>, T>;
///
/// static PRICES: RwLock<u32> = RwLock::new(0);
/// assert_eq!(*PRICES.read(), 0);
/// ```
pub type TracedFair<R> = Traced<R, true>;

impl<R, const FAIR: bool> Traced<R, FAIR> {
    /// Around a lock that is free.
    pub const fn from_raw(raw: R) -> Self {
        Self { told: Lock::new(), raw }
    }

    /// Acquires it by `take`, after a try, with every step told. An operation that cannot fail
    /// gives an `Ok`.
    #[cold]
    fn told<G, E>(
        &self,
        flags: Flags,
        try_take: impl FnOnce(&R) -> Option<G>,
        take: impl FnOnce(&R) -> Result<G, E>,
    ) -> Result<G, E> {
        self.told.acquire(flags);
        let attempt = Attempt(&self.told);
        let result = match try_take(&self.raw) {
            Some(guard) => Ok(guard),
            None => {
                self.told.contended();
                take(&self.raw)
            }
        };
        if result.is_ok() {
            core::mem::forget(attempt);
            self.told.acquired();
        }
        result
    }

    /// As [`Traced::told`], of what takes the lock, or panics.
    #[cold]
    fn told_surely<G>(
        &self,
        flags: Flags,
        try_take: impl FnOnce(&R) -> Option<G>,
        take: impl FnOnce(&R) -> G,
    ) -> G {
        let Ok(guard) =
            self.told(flags, try_take, |raw| Ok::<G, core::convert::Infallible>(take(raw)));
        guard
    }

    /// As [`Traced::told`], of what can give up.
    #[cold]
    fn told_timed<G>(
        &self,
        flags: Flags,
        try_take: impl FnOnce(&R) -> Option<G>,
        take: impl FnOnce(&R) -> Option<G>,
    ) -> Option<G> {
        self.told(flags | Flags::TIMED, try_take, |raw| take(raw).ok_or(())).ok()
    }

    /// Reports the result of a try.
    #[cold]
    fn told_try<G>(&self, flags: Flags, taken: Option<G>) -> Option<G> {
        let failed = if taken.is_none() { Flags::FAILED } else { Flags::EXCLUSIVE };
        self.told.acquire(flags | Flags::TRY | failed);
        taken
    }

    /// Tells that it is about to be released.
    #[inline(always)]
    fn releases(&self) {
        if !annotate::is_known_off() {
            self.tells_release();
        }
    }

    /// Not inlined: guards are dropped where programs have little room for code.
    #[cold]
    #[inline(never)]
    fn tells_release(&self) {
        if !annotate::is_off() {
            self.told.release();
        }
    }
}

/// An acquisition under way. Dropped, it came to nothing: a timeout, or a panic.
struct Attempt<'a>(&'a Lock);

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        self.0.abandoned();
    }
}

// SAFETY: the address of the annotated lock.
unsafe impl<R, const FAIR: bool> Subject for Traced<R, FAIR> {
    const SORT: u32 = Lock::SORT;
    #[inline(always)]
    fn address(&self) -> *const c_void {
        self.told.address()
    }
}

// SAFETY: the address is that of the annotated lock inside, which lives as long as `self`.
unsafe impl<R: lock_api::RawMutex, T: ?Sized> Subject for Mutex<Traced<R>, T> {
    const SORT: u32 = Lock::SORT;
    #[inline(always)]
    fn address(&self) -> *const c_void {
        // SAFETY: only its address is used.
        unsafe { self.raw() }.told.address()
    }
}

// SAFETY: the address is that of the annotated lock inside, which lives as long as `self`.
unsafe impl<R: lock_api::RawRwLock, T: ?Sized, const FAIR: bool> Subject
    for RwLock<Traced<R, FAIR>, T>
{
    const SORT: u32 = Lock::SORT;
    #[inline(always)]
    fn address(&self) -> *const c_void {
        // SAFETY: only its address is used.
        unsafe { self.raw() }.told.address()
    }
}
