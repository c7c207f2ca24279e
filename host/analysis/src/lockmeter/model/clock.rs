//! From the ticks in a ledger to nanoseconds.

use lockwright_ledger::layout::clock;
use lockwright_ledger::reader::HeaderValues;

use super::report::Clock;
use crate::finding::coverage::Untimed;

/// Slowest and fastest counter that is taken for one, in ticks per nanosecond: a rate beyond comes
/// of readings that are no readings.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 0.0001..=100.0;

/// A process' clock.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    ns_per_tick: f64,
    /// One moment by both clocks: ticks, and CLOCK_MONOTONIC in nanoseconds.
    origin: (u64, u64),
    /// What a report calls it.
    pub clock: Clock,
}

impl Ticks {
    /// A clock that says 0 to everything.
    pub const UNKNOWN: Self = Self { ns_per_tick: 0.0, origin: (0, 0), clock: Clock::Unknown };

    /// The clock that a ledger's header describes.
    ///
    /// # Errors
    /// Why its rate is not known.
    pub fn new(header: &HeaderValues) -> Result<Self, Untimed> {
        let [ticks, ns, later_ticks, later_ns] = header.clock_pairs;
        match header.clock {
            clock::MONOTONIC => {
                Ok(Self { ns_per_tick: 1.0, origin: (0, 0), clock: Clock::Monotonic })
            }
            clock::TSC => {
                let run = later_ticks.saturating_sub(ticks) as f64;
                let rate = run / later_ns.saturating_sub(ns) as f64;
                if !PLAUSIBLE.contains(&rate) {
                    return Err(Untimed::RateUnknown);
                }
                let clock = Clock::Tsc { mhz: rate * 1000.0 };
                Ok(Self { ns_per_tick: 1.0 / rate, origin: (ticks, ns), clock })
            }
            clock::NONE => Err(Untimed::NotTimed),
            other => Err(Untimed::ClockUnknown(other)),
        }
    }

    /// An interval in nanoseconds.
    pub fn ns(&self, ticks: u64) -> f64 {
        ticks as f64 * self.ns_per_tick
    }

    /// A reading of the clock as CLOCK_MONOTONIC, nanoseconds.
    pub fn monotonic_ns(&self, reading: u64) -> u64 {
        // Relative to the origin, so that no precision is lost to large readings.
        match reading.checked_sub(self.origin.0) {
            Some(after) => self.origin.1.saturating_add(self.ns(after) as u64),
            None => self.origin.1.saturating_sub(self.ns(self.origin.0 - reading) as u64),
        }
    }

    /// The clock's reading at a time of CLOCK_MONOTONIC, nanoseconds: the other way round.
    pub fn reading(&self, monotonic_ns: u64) -> u64 {
        let ticks = |ns: u64| (ns as f64 / self.ns_per_tick) as u64;
        match monotonic_ns.checked_sub(self.origin.1) {
            Some(after) => self.origin.0.saturating_add(ticks(after)),
            None => self.origin.0.saturating_sub(ticks(self.origin.1 - monotonic_ns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(clock: u32, clock_pairs: [u64; 4]) -> HeaderValues {
        HeaderValues { clock, clock_pairs, ..HeaderValues::default() }
    }

    #[test]
    fn the_rate_is_the_difference_quotient() {
        let ticks =
            Ticks::new(&header(clock::TSC, [1 << 60, 500, (1 << 60) + 4000, 2500])).unwrap();
        assert_eq!(ticks.clock, Clock::Tsc { mhz: 2000.0 });
        assert_eq!(ticks.ns(3), 1.5);
        assert_eq!(ticks.monotonic_ns((1 << 60) + 100), 550);
        assert_eq!(ticks.monotonic_ns((1 << 60) - 100), 450);
        assert_eq!([550, 450].map(|ns| ticks.reading(ns)), [(1 << 60) + 100, (1 << 60) - 100]);
    }

    #[test]
    fn monotonic_readings_are_nanoseconds() {
        let ticks = Ticks::new(&header(clock::MONOTONIC, [0; 4])).unwrap();
        assert_eq!((ticks.ns(7), ticks.monotonic_ns(9)), (7.0, 9));
    }

    #[test]
    fn degenerate_readings_are_told_not_divided_by() {
        for pairs in [[0; 4], [5, 5, 5, 5], [5, 5, 9, 5], [9, 5, 5, 9], [5, 5, 0, 0]] {
            let error = Ticks::new(&header(clock::TSC, pairs)).unwrap_err();
            assert_eq!(error, Untimed::RateUnknown, "{pairs:?}");
        }
        assert!(Ticks::new(&header(clock::NONE, [0; 4])).is_err());
        assert_eq!(Ticks::new(&header(99, [0; 4])).unwrap_err(), Untimed::ClockUnknown(99));
    }
}
