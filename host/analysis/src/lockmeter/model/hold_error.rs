//! How far the time that a lock was held in all may be from what one hold in many says.

use super::histogram::Histogram;

/// With fewer timed holds nothing is said: the mean of so few need not be distributed normally.
pub const FEWEST_TIMED: u64 = 30;

/// Standard deviations on either side of the mean that have 95 % of a normal distribution.
pub(super) const DEVIATIONS: f64 = 1.96;

/// Of n things chosen by chance none was of a kind: then at most so many in n are, with 95 %
/// confidence (the rule of three).
const RULE: u64 = 3;

/// The error of an estimate of holds, or of the sum of several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HoldError {
    /// That of the time in all, ns squared.
    variance: f64,
    /// Acquisitions at sites where too few holds were timed to say how far off the estimate is.
    pub unsure: u64,
}

impl HoldError {
    /// Of an estimate of all holds of `acquisitions` from the `timed` ones among them, which were
    /// chosen by chance: the mean of the timed ones for each (Cochran, Sampling Techniques, 2.5).
    pub fn of(timed: &Histogram, acquisitions: u64) -> Self {
        let n = timed.count();
        if n >= acquisitions {
            return Self::default();
        }
        if n < FEWEST_TIMED {
            return Self { variance: 0.0, unsure: acquisitions };
        }
        let (n, all) = (n as f64, acquisitions as f64);
        let sum = |of: &dyn Fn(f64) -> f64| -> f64 {
            timed.buckets().map(|(ns, count)| of(ns) * count as f64).sum()
        };
        let mean = sum(&|ns| ns) / n;
        let deviation = sum(&|ns| (ns - mean).powi(2)) / (n - 1.0);
        Self { variance: all * all * deviation / n * (1.0 - n / all), unsure: 0 }
    }

    /// Takes in that of other holds, which were chosen independently.
    pub fn add(&mut self, other: &Self) {
        self.variance += other.variance;
        self.unsure = self.unsure.saturating_add(other.unsure);
    }

    /// The time in all is within so many ns of the estimate, with 95 % confidence.
    pub fn ns(&self) -> f64 {
        DEVIATIONS * self.variance.sqrt()
    }
}

/// At most one hold in so many is longer than the longest of `timed` that were chosen by chance,
/// with 95 % confidence; `None` of too few.
pub fn one_longer_in(timed: u64) -> Option<u64> {
    (timed >= FEWEST_TIMED).then_some(timed / RULE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(of: impl Iterator<Item = f64>) -> Histogram {
        let mut times = Histogram::default();
        of.for_each(|ns| times.record(ns, 1));
        times
    }

    fn mean(times: &Histogram) -> f64 {
        let sum: f64 = times.buckets().map(|(ns, count)| ns * count as f64).sum();
        sum / times.count() as f64
    }

    /// Holds as of a lock that is kept long once in a hundred times.
    fn hold(random: &mut fastrand::Rng) -> f64 {
        if random.u32(..100) == 0 { 20_000.0 } else { 50.0 + f64::from(random.u32(..100)) }
    }

    #[test]
    fn nineteen_of_twenty_totals_are_within_what_is_said() {
        let mut random = fastrand::Rng::with_seed(7);
        let holds: Vec<f64> = (0..40_000).map(|_| hold(&mut random)).collect();
        let total: f64 = holds.iter().sum();
        let samples = 1000;
        let mut within = 0;
        for _ in 0..samples {
            let timed = times(holds.iter().copied().filter(|_| random.u32(..16) == 0));
            let estimate = mean(&timed) * holds.len() as f64;
            let error = HoldError::of(&timed, holds.len() as u64).ns();
            within += u32::from((estimate - total).abs() <= error);
        }
        assert!((920..=980).contains(&within), "{within} of {samples}");
    }

    #[test]
    fn what_is_all_timed_has_no_error_and_what_is_hardly_timed_an_unknown_one() {
        let all = times((0..40).map(f64::from));
        assert_eq!(HoldError::of(&all, 40), HoldError::default());
        let few = times((0..29).map(f64::from));
        assert_eq!(HoldError::of(&few, 2000), HoldError { variance: 0.0, unsure: 2000 });
        assert_eq!((one_longer_in(29), one_longer_in(300)), (None, Some(100)));
    }

    #[test]
    fn errors_of_two_sites_add_up_as_variances() {
        let timed = times((0..100).map(f64::from));
        let one = HoldError::of(&timed, 10_000);
        let mut both = one;
        both.add(&one);
        assert!((both.ns() / one.ns() - 2f64.sqrt()).abs() < 1e-9);
    }
}
