//! Deadlines that the C library refuses whatever state the lock is in. Trying for it first would
//! grant it.

use libc::{CLOCK_MONOTONIC, CLOCK_REALTIME, clockid_t, timespec};

/// Waits can end by this clock; any other is refused.
pub fn is_clock(clock: clockid_t) -> bool {
    clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC
}

/// The nanoseconds are less than a second's. A mutex that is free does not look; semaphores and
/// reader-writer locks always do.
///
/// # Safety
/// The caller's deadline, or null, which is none.
pub unsafe fn is_time(deadline: *const timespec) -> bool {
    // SAFETY: the caller promises a deadline or null, and `as_ref` takes both.
    match unsafe { deadline.as_ref() } {
        Some(time) => (0..1_000_000_000).contains(&time.tv_nsec),
        None => false,
    }
}

/// As [`is_time`], for the locks that can do without a deadline and then wait for good.
///
/// # Safety
/// As for [`is_time`].
pub unsafe fn is_time_or_none(deadline: *const timespec) -> bool {
    // SAFETY: it is not null, so it is the deadline that the caller promises.
    deadline.is_null() || unsafe { is_time(deadline) }
}
