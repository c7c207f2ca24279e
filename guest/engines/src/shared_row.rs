//! A row that one thread at a time works on while others look at two of its words.
//!
//! The row's lock, `busy`, guards all fields but two: `waiters` and `addr`, by which a thread finds
//! the row without the lock. These two are accessed atomically by every thread, the holder of the
//! lock included, and no reference to the whole row is ever made.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};

/// Attempts at a row's lock before the caller goes without. Its holders execute a dozen
/// instructions, but can lose the processor between them.
const ATTEMPTS: u32 = 2000;

/// A row with a lock.
///
/// # Safety
/// `words` gives three distinct aligned fields of the row, and `Fields` refers to none of them.
pub(crate) unsafe trait Row {
    /// References to the fields that the row's lock guards.
    type Fields<'a>;

    /// Addresses of the fields that every thread accesses.
    ///
    /// # Safety
    /// `row` is a mapped row.
    unsafe fn words(row: *mut Self) -> Words;

    /// The guarded fields.
    ///
    /// # Safety
    /// `row` is a mapped row whose lock the caller holds for all of `'a`.
    unsafe fn fields<'a>(row: *mut Self) -> Self::Fields<'a>;
}

/// See [`Row::words`].
pub(crate) struct Words {
    pub busy: *mut u32,
    pub waiters: *mut u32,
    pub addr: *mut u64,
}

/// Implements [`Row`]: `row!(Row, Fields { guarded, fields })`, where `Fields` has a reference to each of those fields
/// under its name. `busy`, `waiters` and `addr` are none of them.
macro_rules! row {
    ($row:ty, $fields:ident { $($field:ident),+ $(,)? }) => {
        // SAFETY: `busy`, `waiters` and `addr` are distinct fields, and not among those in braces.
        unsafe impl $crate::shared_row::Row for $row {
            type Fields<'a> = $fields<'a>;

            /// # Safety
            /// The contract is that of `Row::words`.
            unsafe fn words(row: *mut Self) -> $crate::shared_row::Words {
                // SAFETY: by the trait's contract: a mapped row.
                unsafe {
                    $crate::shared_row::Words {
                        busy: &raw mut (*row).busy,
                        waiters: &raw mut (*row).waiters,
                        addr: &raw mut (*row).addr,
                    }
                }
            }

            /// # Safety
            /// The contract is that of `Row::fields`.
            unsafe fn fields<'a>(row: *mut Self) -> $fields<'a> {
                // SAFETY: by the trait's contract: a mapped row, whose lock it holds. Each reference is to one
                // field, which is accessed under that lock only.
                unsafe { $fields { $($field: &mut (*row).$field),+ } }
            }
        }
    };
}

pub(crate) use row;

/// A mapped row, which stays mapped.
#[derive(Debug)]
pub(crate) struct SharedRow<R>(*mut R);

impl<R> Clone for SharedRow<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for SharedRow<R> {}

impl<R: Row> SharedRow<R> {
    /// # Safety
    /// `row` is a mapped row and stays one until the process ends.
    pub const unsafe fn new(row: *mut R) -> Self {
        Self(row)
    }

    pub const fn as_ptr(self) -> *mut R {
        self.0
    }

    /// Threads that wait. Only the holder of the row's lock adds one.
    pub fn waiters(&self) -> &AtomicU32 {
        // SAFETY: the row stays mapped (`new`), and this field is only accessed atomically.
        unsafe { AtomicU32::from_ptr(R::words(self.0).waiters) }
    }

    /// Address that they wait at. Only the holder of the row's lock changes it.
    pub fn addr(&self) -> &AtomicU64 {
        // SAFETY: the row stays mapped, as `new` demands, and every thread accesses `addr`
        // atomically only.
        unsafe { AtomicU64::from_ptr(R::words(self.0).addr) }
    }

    /// Threads wait at `addr`, by a look without the lock.
    pub fn is_waited_at(&self, addr: u64) -> bool {
        self.addr().load(Relaxed) == addr && self.waiters().load(Relaxed) != 0
    }

    /// One waiter less. Needs no lock, so that the count cannot stay up for ever.
    pub fn leave(&self) {
        // Relaxed: the next thread to claim the row takes its lock, and the fields by that.
        self.waiters().fetch_sub(1, Relaxed);
    }

    /// Runs `f` with the guarded fields, or not at all.
    pub fn with<T>(&self, f: impl FnOnce(R::Fields<'_>) -> T) -> Option<T> {
        // SAFETY: the row stays mapped, as `new` demands, and every thread accesses `busy`
        // atomically only.
        let busy = unsafe { AtomicU32::from_ptr(R::words(self.0).busy) };
        let mut attempts = 0;
        // Acquire pairs with the Release below: the fields as the last holder left them.
        while busy.compare_exchange_weak(0, 1, Acquire, Relaxed).is_err() {
            attempts += 1;
            if attempts > ATTEMPTS {
                return None;
            }
            core::hint::spin_loop();
        }
        // SAFETY: the row stays mapped, and `busy` is ours until the store below, which `f`'s
        // borrow does not outlive.
        let result = f(unsafe { R::fields(self.0) });
        busy.store(0, Release);
        Some(result)
    }
}
