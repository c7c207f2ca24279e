//! Virtual time: picoseconds, as a cycle is no whole number of nanoseconds.

/// A time or a duration, in picoseconds: 213 days until it overflows.
pub type Time = u64;

/// A nanosecond.
pub const NANOSECOND: Time = 1_000;
/// A microsecond.
pub const MICROSECOND: Time = 1_000 * NANOSECOND;
/// A millisecond.
pub const MILLISECOND: Time = 1_000 * MICROSECOND;
/// A second.
pub const SECOND: Time = 1_000 * MILLISECOND;

/// So many nanoseconds, rounded.
pub fn nanoseconds(time: f64) -> Time {
    (time * NANOSECOND as f64).round() as Time
}

/// In seconds.
pub fn seconds(time: Time) -> f64 {
    time as f64 / SECOND as f64
}
