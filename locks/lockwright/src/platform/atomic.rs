//! The atomics of `core` as cells of a platform.

#[cfg(target_has_atomic = "64")]
use core::sync::atomic::AtomicU64;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use super::Atomic;

macro_rules! atomic {
    ($cell:ident, $value:ty) => {
        impl Atomic<$value> for $cell {
            #[inline(always)]
            fn new(value: $value) -> Self {
                $cell::new(value)
            }
            #[inline(always)]
            fn load(&self, order: Ordering) -> $value {
                $cell::load(self, order)
            }
            #[inline(always)]
            fn store(&self, value: $value, order: Ordering) {
                $cell::store(self, value, order);
            }
            #[inline(always)]
            fn swap(&self, value: $value, order: Ordering) -> $value {
                $cell::swap(self, value, order)
            }
            #[inline(always)]
            fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                $cell::compare_exchange(self, current, new, success, failure)
            }
            #[inline(always)]
            fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                $cell::fetch_add(self, value, order)
            }
            #[inline(always)]
            fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                $cell::fetch_sub(self, value, order)
            }
            #[inline(always)]
            fn fetch_and(&self, value: $value, order: Ordering) -> $value {
                $cell::fetch_and(self, value, order)
            }
            #[inline(always)]
            fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                $cell::fetch_or(self, value, order)
            }
        }
    };
}

atomic!(AtomicU32, u32);
#[cfg(target_has_atomic = "64")]
atomic!(AtomicU64, u64);
atomic!(AtomicUsize, usize);
