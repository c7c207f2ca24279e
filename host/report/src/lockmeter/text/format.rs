//! Times, parts and counts as a meter report writes them: three significant digits, the unit at the
//! number.

use crate::prose::words::number;
use lockwright_analysis::lockmeter::model::Bounds;

/// The text for a missing value.
pub const NONE: &str = "-";

/// A time, in at most six characters: `48ns`, `1.23us`, `45.6ms`, `789s`.
pub fn time(ns: f64) -> String {
    if ns < 999.5 {
        return format!("{ns:.0}ns");
    }
    let units = [("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let (unit, by) = units.into_iter().find(|(_, by)| ns / by < 999.5).unwrap_or(("s", 1e9));
    format!("{}{unit}", digits(ns / by))
}

/// A time that may not be known.
pub fn maybe_time(ns: Option<f64>) -> String {
    ns.map_or_else(|| NONE.to_owned(), time)
}

/// Where a figure lies, by what was timed of it.
pub fn within(Bounds { low, high }: Bounds) -> String {
    match high {
        Some(high) => format!("{} to {}", time(low), time(high)),
        None => format!("{} or more", time(low)),
    }
}

/// A part of a whole as a number of percent: `0`, `0.12`, `3.4`, `100`.
pub fn percent(part: f64) -> String {
    match part * 100.0 {
        0.0 => "0".to_owned(),
        percent if percent < 0.005 => "<0.01".to_owned(),
        percent if percent < 0.995 => format!("{percent:.2}"),
        percent if percent < 99.95 => format!("{percent:.1}"),
        percent => format!("{percent:.0}"),
    }
}

/// A count: exact, or in millions where that would be too long to read.
pub fn count(n: u64) -> String {
    if n < 1_000_000_000 { number(n) } else { format!("{}M", number(n / 1_000_000)) }
}

fn digits(value: f64) -> String {
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_to_three_digits() {
        let times = [0.0, 48.4, 999.4, 999.6, 9_994.0, 9_996.0, 99_960.0, 1e6, 1.5e9, 3.6e12];
        let texts = [
            "0ns", "48ns", "999ns", "1.00us", "9.99us", "10.0us", "100us", "1.00ms", "1.50s",
            "3600s",
        ];
        assert_eq!(times.map(time), texts);
    }

    #[test]
    fn parts_are_percent() {
        let parts = [0.0, 0.000_01, 0.001_2, 0.5, 0.9994, 0.9996, 1.0, 12.0];
        let texts = ["0", "<0.01", "0.12", "50.0", "99.9", "100", "100", "1200"];
        assert_eq!(parts.map(percent), texts);
    }

    #[test]
    fn counts_stay_short() {
        assert_eq!(count(123_456_789), "123,456,789");
        assert_eq!(count(12_345_678_901), "12,345M");
    }
}
