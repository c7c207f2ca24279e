//! The outcome of one run's threads.

use hdrhistogram::Histogram;
use serde::Serialize;

use super::super::workers::Times;

/// Nanoseconds of waits: from the call that takes a lock to its return, of those that were timed.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Waits {
    /// How many were timed.
    pub timed: u64,
    /// Half of them were not longer.
    pub p50: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p99_9: u64,
    /// The longest.
    pub max: u64,
}

impl Waits {
    /// The quantiles of all waits that one run has timed.
    pub fn of(waits: &Histogram<u64>) -> Self {
        let at = |quantile| waits.value_at_quantile(quantile);
        Self { timed: waits.len(), p50: at(0.5), p99: at(0.99), p99_9: at(0.999), max: waits.max() }
    }
}

/// One run of one lock.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// When, and how much CPU time.
    pub times: Times,
    /// Sections of each thread.
    pub operations: Vec<u64>,
    /// Context switches of all threads.
    pub switches: u64,
    /// How long threads waited.
    pub waits: Waits,
    /// Calls of the kernel's futex by all threads; none: not counted.
    pub futex_calls: Option<u64>,
}

impl Outcome {
    /// Sections of all threads.
    pub fn total(&self) -> u64 {
        self.operations.iter().sum()
    }

    /// Sections a second.
    pub fn rate(&self) -> f64 {
        self.total() as f64 / self.times.seconds()
    }

    /// Sections of the thread with the fewest, of all in the mean, and of the one with the most.
    pub fn spread(&self) -> [f64; 3] {
        let (min, max) = (self.operations.iter().min(), self.operations.iter().max());
        let end = |operations: Option<&u64>| operations.copied().unwrap_or(0) as f64;
        [end(min), self.total() as f64 / self.operations.len().max(1) as f64, end(max)]
    }

    /// Sections of the thread with the fewest over those of the one with the most: 1 is fair.
    pub fn min_over_max(&self) -> f64 {
        let [min, _, max] = self.spread();
        min / max.max(1.0)
    }

    /// Jain's index: 1 is fair, and one in the number of threads if only one had any.
    pub fn jain(&self) -> f64 {
        let squares: f64 = self.operations.iter().map(|n| (*n as f64).powi(2)).sum();
        let sum = self.total() as f64;
        sum * sum / (self.operations.len() as f64 * squares).max(1.0)
    }

    /// Nanoseconds of CPU time for each section.
    pub fn cpu_ns(&self) -> f64 {
        self.times.cpu_ns as f64 / self.total().max(1) as f64
    }

    /// Calls of the kernel's futex for each section; none: not counted.
    pub fn futex_calls(&self) -> Option<f64> {
        Some(self.futex_calls? as f64 / self.total().max(1) as f64)
    }

    /// Context switches for each section.
    pub fn switches(&self) -> f64 {
        self.switches as f64 / self.total().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(operations: &[u64]) -> Outcome {
        let times = Times {
            elapsed_ns: 2_000_000_000,
            longest_ns: 2_000_000_000,
            cpu_ns: 400,
            cpus: 2,
            workers: operations.len(),
        };
        let mut waits = Histogram::new(2).unwrap();
        waits.record(7).unwrap();
        let waits = Waits::of(&waits);
        Outcome {
            times,
            operations: operations.to_vec(),
            switches: 10,
            waits,
            futex_calls: Some(3),
        }
    }

    #[test]
    fn figures_are_those_of_the_textbooks() {
        let fair = outcome(&[10, 10, 10, 10]);
        assert_eq!((fair.rate(), fair.jain(), fair.min_over_max()), (20.0, 1.0, 1.0));
        assert_eq!((fair.cpu_ns(), fair.switches()), (10.0, 0.25));
        let one_had_all = outcome(&[0, 40, 0, 0]);
        assert_eq!((one_had_all.jain(), one_had_all.min_over_max()), (0.25, 0.0));
        assert_eq!(one_had_all.spread(), [0.0, 10.0, 40.0]);
        assert_eq!(fair.futex_calls(), Some(0.075));
        assert_eq!((fair.waits.timed, fair.waits.p99_9), (1, 7));
    }
}
