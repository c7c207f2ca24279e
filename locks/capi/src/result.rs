//! The results of functions, and the times that they take.

use core::ffi::c_int;

use libc::timespec;

const SECOND: u64 = 1_000_000_000;

/// 0 if it is done, else the error.
#[inline(always)]
pub fn done_or(error: c_int, done: bool) -> c_int {
    if done { 0 } else { error }
}

/// The time in nanoseconds, as locks have their deadlines; none for a null pointer.
///
/// # Errors
/// EINVAL if its nanoseconds are none.
///
/// # Safety
/// A time or null.
pub unsafe fn deadline(time: *const timespec) -> Result<Option<u64>, c_int> {
    // SAFETY: by this function's contract `time` is null or points to a time that lives during the
    // call.
    let Some(time) = (unsafe { time.as_ref() }) else { return Ok(None) };
    let nanos = u64::try_from(time.tv_nsec).ok().filter(|nanos| *nanos < SECOND);
    let nanos = nanos.ok_or(libc::EINVAL)?;
    // A time before the clock's start is over.
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Ok(Some(seconds.saturating_mul(SECOND).saturating_add(nanos)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tv_sec: i64, tv_nsec: i64) -> Result<Option<u64>, c_int> {
        // SAFETY: the pointer is that of a temporary, which lives during the call.
        unsafe { deadline(&timespec { tv_sec, tv_nsec }) }
    }

    #[test]
    fn times_are_nanoseconds() {
        assert_eq!(of(2, 3), Ok(Some(2_000_000_003)));
        assert_eq!(of(-1, 3), Ok(Some(3)), "over in any case");
        assert_eq!(of(i64::MAX, 999_999_999), Ok(Some(u64::MAX)));
        // SAFETY: the function accepts null, and then reads nothing.
        assert_eq!(unsafe { deadline(core::ptr::null()) }, Ok(None));
    }

    #[test]
    fn what_is_no_time_is_an_error() {
        assert_eq!(of(0, SECOND as i64), Err(libc::EINVAL));
        assert_eq!(of(0, -1), Err(libc::EINVAL));
    }
}
