//! Bounds of what one hold in many says about all of them: the mean, and how long the shorter part of them is.
//!
//! The holds that were timed were chosen by chance. So the place of a percentile among them is distributed as the number of heads
//! of a coin is, whatever the holds' distribution (Hahn and Meeker, Statistical Intervals, 5.2).

use super::hold_error::{DEVIATIONS, FEWEST_TIMED};
use super::numbers::Numbers;

/// A bucket of a histogram is so wide, on either side of the time that stands for it.
const BUCKET: f64 = 0.008;

/// A figure lies in between with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// From here on, ns.
    pub low: f64,
    /// Up to here, ns; `None` if too few holds were timed to say so.
    pub high: Option<f64>,
}

impl Numbers {
    /// One hold in many was timed, and enough of them to say how far off their figures may be.
    fn is_sampled(&self) -> bool {
        let timed = self.hold.count;
        timed < self.acquisitions && timed >= FEWEST_TIMED
    }

    /// The part of the holds that was timed.
    fn timed_part(&self) -> f64 {
        self.hold.count as f64 / self.acquisitions as f64
    }

    /// Bounds of the mean hold; `None` if it is exact, or of too few.
    pub fn mean_hold_bounds(&self) -> Option<Bounds> {
        let mean = self.hold.mean_ns().filter(|_| self.is_sampled())?;
        let n = self.hold.count as f64;
        let squares: f64 = self
            .hold
            .histogram
            .buckets()
            .map(|(ns, count)| (ns - mean).powi(2) * count as f64)
            .sum();
        let variance = squares / (n - 1.0) / n * (1.0 - self.timed_part());
        let off = DEVIATIONS * variance.sqrt();
        Some(Bounds { low: (mean - off).max(0.0), high: Some(mean + off) })
    }

    /// Bounds of the time that `percent` of the holds do not exceed; `None` if it is exact, or of too few.
    pub fn hold_bounds(&self, percent: f64) -> Option<Bounds> {
        if !self.is_sampled() {
            return None;
        }
        let (n, part) = (self.hold.count as f64, percent / 100.0);
        let off = DEVIATIONS * (n * part * (1.0 - part) * (1.0 - self.timed_part())).sqrt();
        let (first, last) = ((n * part - off).floor(), (n * part + off).ceil() + 1.0);
        let low = if first < 1.0 { Some(0.0) } else { self.ranked(first as u64) };
        let high = if last > n { None } else { self.ranked(last as u64) };
        Some(Bounds { low: low? * (1.0 - BUCKET), high: high.map(|ns| ns * (1.0 + BUCKET)) })
    }

    /// The timed hold of this rank, the shortest first.
    fn ranked(&self, rank: u64) -> Option<f64> {
        let mut seen = 0u64;
        self.hold.histogram.buckets().find_map(|(ns, count)| {
            seen = seen.saturating_add(count);
            (seen >= rank).then_some(ns)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::numbers::Times;
    use super::*;

    /// Holds of a lock that is kept long once in so many times, and half as long again by chance.
    fn hold(random: &mut fastrand::Rng, rare: u32) -> f64 {
        let usual = 50.0 + f64::from(random.u32(..10_000)) / 100.0;
        if random.u32(..rare) == 0 { 100.0 * usual } else { usual }
    }

    fn of(timed: impl Iterator<Item = f64>, acquisitions: u64) -> Numbers {
        let mut hold = Times::default();
        for ns in timed {
            (hold.count, hold.total_ns) = (hold.count + 1, hold.total_ns + ns);
            hold.max_ns = hold.max_ns.max(ns);
            hold.histogram.record(ns, 1);
        }
        Numbers { hold, acquisitions, ..Numbers::default() }
    }

    /// In 19 of 20 choices of what is timed, the true figures of a planted lock are within what the report says.
    #[test]
    fn true_figures_are_within_their_bounds() {
        const SEEDS: u64 = 600;
        for rare in [10, 40] {
            let mut random = fastrand::Rng::with_seed(u64::from(rare));
            let mut holds: Vec<f64> = (0..20_000).map(|_| hold(&mut random, rare)).collect();
            holds.sort_by(f64::total_cmp);
            let mean = holds.iter().sum::<f64>() / holds.len() as f64;
            let percentile = |part: f64| holds[(holds.len() as f64 * part).ceil() as usize - 1];
            let (p50, p99) = (percentile(0.5), percentile(0.99));
            let mut within = [0; 3];
            let mut widest: f64 = 0.0;
            for seed in 0..SEEDS {
                let mut random = fastrand::Rng::with_seed(seed);
                let timed = holds.iter().copied().filter(|_| random.u32(..16) == 0);
                let numbers = of(timed, holds.len() as u64);
                let all = [
                    numbers.mean_hold_bounds(),
                    numbers.hold_bounds(50.0),
                    numbers.hold_bounds(99.0),
                ];
                for ((bounds, truth), within) in
                    all.into_iter().zip([mean, p50, p99]).zip(&mut within)
                {
                    let Bounds { low, high } = bounds.expect("enough of them");
                    *within += u64::from(low <= truth && high.is_none_or(|high| truth <= high));
                }
                widest = widest.max(numbers.hold_bounds(50.0).unwrap().high.unwrap() / p50);
            }
            for within in within {
                assert!(within * 100 >= SEEDS * 93, "{within} of {SEEDS}, one in {rare} long");
            }
            assert!(widest < 1.2, "bounds that say nothing are always right: {widest}");
        }
    }

    #[test]
    fn what_is_exact_or_hardly_timed_has_no_bounds() {
        let exact = of((0..40).map(f64::from), 40);
        assert_eq!((exact.mean_hold_bounds(), exact.hold_bounds(50.0)), (None, None));
        let few = of((0..29).map(f64::from), 2000);
        assert_eq!((few.mean_hold_bounds(), few.hold_bounds(50.0)), (None, None));
        let thirty = of((1..=30).map(f64::from), 2000);
        assert_eq!(
            thirty.hold_bounds(99.0).unwrap().high,
            None,
            "one longer than all may be usual"
        );
    }
}
