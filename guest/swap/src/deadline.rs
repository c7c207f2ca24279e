//! Until when a call waits.

use core::ffi::c_int;

use libc::timespec;

use crate::os;

const SECOND: i64 = 1_000_000_000;

/// Whether a clock can be waited by.
pub fn is_known(clock: c_int) -> bool {
    clock == libc::CLOCK_REALTIME || clock == libc::CLOCK_MONOTONIC
}

/// A time of a clock.
#[derive(Clone, Copy)]
pub struct Deadline {
    /// CLOCK_REALTIME or CLOCK_MONOTONIC.
    pub clock: c_int,
    /// The time. Its nanoseconds may be none.
    pub time: timespec,
}

impl Deadline {
    /// The deadline that a call names.
    ///
    /// # Safety
    /// `time` points to a time.
    pub unsafe fn new(clock: c_int, time: *const timespec) -> Self {
        // SAFETY: the caller promises that `time` points to a time.
        Self { clock, time: unsafe { *time } }
    }

    /// The deadline that a call names, where null is none.
    ///
    /// # Safety
    /// `time` points to a time, or is null.
    pub unsafe fn given(clock: c_int, time: *const timespec) -> Option<Self> {
        // SAFETY: `time` is not null, so it points to a time, as the caller promises.
        (!time.is_null()).then(|| unsafe { Self::new(clock, time) })
    }

    /// The deadline that comes in so many nanoseconds, fewer than a second.
    pub fn after(nanoseconds: i64) -> Self {
        let now = os::clock(libc::CLOCK_MONOTONIC);
        let sum = now.tv_nsec + nanoseconds;
        let time = timespec { tv_sec: now.tv_sec + sum / SECOND, tv_nsec: sum % SECOND };
        Self { clock: libc::CLOCK_MONOTONIC, time }
    }

    /// Whether it comes within so many nanoseconds, or has come.
    pub fn comes_within(&self, nanoseconds: u64) -> bool {
        self.left().is_none_or(|left| left <= nanoseconds)
    }

    /// The clock is one that can be waited by.
    pub fn has_clock(&self) -> bool {
        is_known(self.clock)
    }

    /// The nanoseconds are part of a second.
    pub fn is_valid(&self) -> bool {
        (0..SECOND).contains(&self.time.tv_nsec)
    }

    /// The time is before all that clocks tell; the kernel does not take it for a time.
    pub fn is_negative(&self) -> bool {
        self.time.tv_sec < 0
    }

    /// How long it is until then, in nanoseconds; none: it has come.
    fn left(&self) -> Option<u64> {
        let now = os::clock(self.clock);
        let seconds = self.time.tv_sec.saturating_sub(now.tv_sec);
        let left = seconds.saturating_mul(SECOND).saturating_add(self.time.tv_nsec - now.tv_nsec);
        u64::try_from(left).ok().filter(|left| *left > 0)
    }

    /// Calls `attempt` with the deadline in nanoseconds of CLOCK_MONOTONIC until it succeeds, or
    /// the clock has come to the deadline: which the attempt may see too early, if the clock was
    /// set back meanwhile. False: it did not succeed.
    pub fn attempt(&self, mut attempt: impl FnMut(u64) -> bool) -> bool {
        loop {
            let Some(left) = self.left() else { return attempt(0) };
            if attempt(os::now().saturating_add(left)) {
                return true;
            }
        }
    }
}
