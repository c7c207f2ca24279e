//! Machines without instructions of their own in here. The lowest byte of a word is changed with the word.

use core::sync::atomic::Ordering::{self, Relaxed};
use core::sync::atomic::{AtomicU32, fence};

/// A fence of SeqCst after an atomic exchange or arithmetic, which need not be one.
#[inline(always)]
#[cfg_attr(not(feature = "std"), allow(dead_code, reason = "of the platform of std"))]
pub fn fence_after_atomic() {
    fence(Ordering::SeqCst);
}

/// Stores 0.
#[inline(always)]
pub fn clear_byte(word: &AtomicU32, order: Ordering) {
    word.fetch_and(!0xff, order);
}

/// Stores `value` and returns what was there.
#[inline(always)]
pub fn swap_byte(word: &AtomicU32, value: u8, order: Ordering) -> u8 {
    // Relaxed: of failed attempts only the word itself counts.
    let change = |word| Some((word & !0xff) | u32::from(value));
    match word.fetch_update(order, Relaxed, change) {
        Ok(old) | Err(old) => old as u8,
    }
}

/// Stores `new` if `current` is there.
///
/// # Errors
/// The byte found, if it is not `current`.
#[inline(always)]
pub fn compare_exchange_byte(
    word: &AtomicU32,
    current: u8,
    new: u8,
    order: Ordering,
) -> Result<u8, u8> {
    let change = |word| (word as u8 == current).then_some((word & !0xff) | u32::from(new));
    // Relaxed: of failed attempts only the word itself counts.
    word.fetch_update(order, Relaxed, change).map(|old| old as u8).map_err(|seen| seen as u8)
}
