//! Work that takes a known time: steps of which each is a store that no compiler leaves out.

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::Serialize;

/// Works for `steps`.
#[inline(always)]
pub fn spin(steps: u64) {
    (0..steps).for_each(|step| {
        black_box(step);
    });
}

/// What this machine does in a time.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Calibration {
    /// Steps of [`spin`] in a nanosecond.
    pub steps_per_ns: f64,
    /// Nanoseconds that a reading of the clock takes.
    pub clock_ns: f64,
}

/// Times; the shortest counts, as nothing makes work shorter than it is.
const TIMES: usize = 20;

impl Calibration {
    /// Measures, in some milliseconds.
    pub fn measure() -> Self {
        const STEPS: u64 = 100_000;
        const READINGS: u32 = 10_000;
        let steps = shortest(|| spin(STEPS));
        let readings = shortest(|| {
            (0..READINGS).for_each(|_| {
                black_box(Instant::now());
            });
        });
        Self {
            steps_per_ns: STEPS as f64 / steps.max(1.0),
            clock_ns: readings / f64::from(READINGS),
        }
    }

    /// Steps that take as long.
    pub fn steps(&self, ns: u64) -> u64 {
        (ns as f64 * self.steps_per_ns) as u64
    }

    /// Every how many sections of this length one may be timed, so that the two readings of the
    /// clock take less than a fiftieth of all time.
    pub fn sampling(&self, section_ns: u64) -> u64 {
        // An empty section and the pair around it take about this long.
        const PAIR: f64 = 10.0;
        (50.0 * 2.0 * self.clock_ns / (section_ns as f64 + PAIR)).ceil().max(1.0) as u64
    }
}

/// Nanoseconds of the shortest of some runs.
fn shortest(run: impl Fn()) -> f64 {
    let timed = |_| {
        let begin = Instant::now();
        run();
        begin.elapsed()
    };
    let all = (0..TIMES).map(timed);
    all.min().unwrap_or(Duration::ZERO).as_nanos() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_sections_are_timed_more_often() {
        let calibration = Calibration { steps_per_ns: 2.0, clock_ns: 20.0 };
        assert_eq!(calibration.steps(100), 200);
        assert_eq!(calibration.sampling(0), 200);
        assert_eq!(calibration.sampling(990), 2);
        assert_eq!(calibration.sampling(100_000), 1);
    }

    #[test]
    fn a_machine_works_and_has_a_clock() {
        let calibration = Calibration::measure();
        assert!(calibration.steps_per_ns > 0.0 && calibration.clock_ns > 0.0, "{calibration:?}");
    }
}
