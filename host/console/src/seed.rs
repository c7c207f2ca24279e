//! A seed for random numbers, where the user gives none.

use std::time::SystemTime;

/// One that is short enough to be typed.
pub fn from_clock() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::from(now.subsec_nanos() ^ now.as_secs() as u32)
}
