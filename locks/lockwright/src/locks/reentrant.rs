//! A mutex that its owner may take again.

use core::num::NonZeroUsize;

use crate::hybrid_mutex::RawHybridMutex;
use crate::platform::linux::Linux;

/// A value under a [`HybridMutex`](super::HybridMutex) that its owner may lock again; it is reached
/// to read, as there may be several guards at a time.
///
/// ```
/// use std::cell::Cell;
///
/// let depth = lockwright::locks::ReentrantMutex::new(Cell::new(0));
/// let outer = depth.lock();
/// let inner = depth.lock();
/// inner.set(2);
/// assert_eq!(outer.get(), 2);
/// ```
pub type ReentrantMutex<T> = lock_api::ReentrantMutex<RawHybridMutex<Linux>, ThreadId, T>;

/// Has a [`ReentrantMutex`] locked as long as it lives.
pub type ReentrantMutexGuard<'a, T> =
    lock_api::ReentrantMutexGuard<'a, RawHybridMutex<Linux>, ThreadId, T>;

/// Tells threads apart: by the address of what each has for itself.
#[derive(Debug)]
pub struct ThreadId;

// SAFETY: two threads that live at the same time have their storage at two addresses, which stay
// the same as long as they live.
unsafe impl lock_api::GetThreadId for ThreadId {
    const INIT: Self = Self;

    #[inline]
    fn nonzero_thread_id(&self) -> NonZeroUsize {
        std::thread_local! {
            static PLACE: u8 = const { 0 };
        }
        PLACE.with(|place| core::ptr::NonNull::from(place).addr())
    }
}
