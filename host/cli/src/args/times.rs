//! Times as users write them.

use std::ops::RangeInclusive;
use std::time::Duration;

/// One second, in which limits are counted.
const SECOND: Duration = Duration::from_secs(1);

/// A day.
pub const DAY: Duration = SECOND.saturating_mul(24 * 3600);

/// Reads a number with a unit, such as `500ms`; `examples` are right ones.
///
/// # Errors
/// If it is no time, or not within `range`.
pub fn within(
    text: &str,
    range: RangeInclusive<Duration>,
    examples: &str,
) -> Result<Duration, String> {
    let time = humantime::parse_duration(text)
        .map_err(|error| format!("{error}; a number with a unit, as {examples}"))?;
    if range.contains(&time) {
        return Ok(time);
    }
    let [least, most] = [range.start(), range.end()].map(|time| humantime::format_duration(*time));
    Err(format!("not from {least} to {most}"))
}
