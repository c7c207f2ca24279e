//! Machines without instructions of their own in here: atomics.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A word, as others write it.
///
/// # Safety
/// It is mapped and aligned as long as it is used; others access it atomically only.
unsafe fn word<'a>(at: *const u64) -> &'a AtomicU64 {
    // SAFETY: the caller promises a mapped, aligned word, which others access atomically only.
    unsafe { AtomicU64::from_ptr(at.cast_mut()) }
}

/// Adds to a number that only this thread and its signal handlers change, `OFFSET` bytes into a row.
///
/// # Safety
/// `row` is mapped, and this thread's; `OFFSET` is aligned and lies within it.
#[inline(always)]
pub unsafe fn add<const OFFSET: usize>(row: *mut impl Sized, by: u64) {
    // SAFETY: the caller passes a mapped row of its own, within which `OFFSET` lies. Relaxed: for a handler and readers of the
    // file the number alone counts.
    unsafe { word(row.byte_add(OFFSET).cast()) }.fetch_add(by, Relaxed);
}

/// [`add`] of 1.
///
/// # Safety
/// As for [`add`].
#[inline(always)]
pub unsafe fn increment<const OFFSET: usize>(row: *mut impl Sized) {
    // SAFETY: the caller's promises are the same.
    unsafe { add::<OFFSET>(row, 1) }
}

/// `value` is below the word at `base + AT`.
///
/// # Safety
/// The word is mapped and aligned; others write it atomically only.
#[inline(always)]
pub unsafe fn is_below<const AT: usize>(value: u64, base: *const impl Sized) -> bool {
    // SAFETY: the caller passes a mapped, aligned word that others write atomically only.
    value < unsafe { word(base.byte_add(AT).cast()) }.load(Relaxed)
}

/// `value` is equal to the word at `base + AT`.
///
/// # Safety
/// The word is mapped and aligned; others write it atomically only.
#[inline(always)]
pub unsafe fn is_equal<const AT: usize>(value: u64, base: *const impl Sized) -> bool {
    // SAFETY: the caller passes a mapped, aligned word that others write atomically only.
    value == unsafe { word(base.byte_add(AT).cast()) }.load(Relaxed)
}
