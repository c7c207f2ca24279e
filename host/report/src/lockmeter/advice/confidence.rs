//! How sure a suggestion is: computed from how far the numbers are beyond the thresholds, and of
//! how many events they are.

use std::fmt;

/// How sure a suggestion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// The numbers allow it.
    Low,
    /// They speak for it.
    Medium,
    /// They leave little else.
    High,
}

/// Events of which half of the strength counts: as many make a part of one half known within about
/// 10 %.
const HALF: f64 = 100.0;

impl Confidence {
    /// The confidence for a `strength`, 0 to 1, seen in `events` events: high from 0.7 on, medium
    /// from 0.4 on, where strength counts in full for many events, and by half for 100.
    pub fn new(strength: f64, events: u64) -> Self {
        let events = events as f64;
        match strength.clamp(0.0, 1.0) * events / (events + HALF) {
            score if score >= 0.7 => Self::High,
            score if score >= 0.4 => Self::Medium,
            _ => Self::Low,
        }
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        })
    }
}

/// How far `value` is on the way from `from`, where it is 0, to `to`, where it is 1.
pub fn way(value: f64, from: f64, to: f64) -> f64 {
    ((value - from) / (to - from)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_events_are_less_sure() {
        let of = |events| Confidence::new(1.0, events);
        assert_eq!(
            [10, 100, 10_000].map(of),
            [Confidence::Low, Confidence::Medium, Confidence::High]
        );
        assert_eq!(Confidence::new(0.5, 10_000), Confidence::Medium);
        assert_eq!(Confidence::new(0.1, 10_000), Confidence::Low);
    }

    #[test]
    fn ways_end() {
        assert_eq!([0.0, 0.5, 0.75, 2.0].map(|value| way(value, 0.5, 1.0)), [0.0, 0.0, 0.5, 1.0]);
    }
}
