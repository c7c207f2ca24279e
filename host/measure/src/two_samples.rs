//! Runs before and runs after: by what factor they differ, and whether chance alone does that.
//!
//! A value above zero that many things delay a little is nearly log-normal. So where all values are above zero, their
//! logarithms are compared: by Student's t test, and by Welch's where the sides vary differently. Each is too sure where the
//! other is not (Welch's with three runs against twenty), and the more cautious one counts.
//!
//! Neither holds for every distribution, so the runs are also dealt out to the two sides in other ways (Fisher's permutation
//! test). If a change by the factor r were all that differs, the runs after, divided by r, could as well be runs before. All
//! factors for which the real deal is no exception are an interval that covers the true factor for any distribution. Of n
//! and m runs there must be 40 deals for that: 4 against 4, or 3 against 5. With 3 against 3 only the t tests are left.
//!
//! The ends need no search. Let a deal swap the runs A and as many runs B. Its difference exceeds the real one where
//! r A > B, so it changes sides at r = B / A: each deal has one factor, and the interval's ends are among these, sorted.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The part of intervals that cover the true factor.
pub const COVERAGE: f64 = 0.95;
/// Runs of a side below which nothing is claimed: two differ by chance in ways that they do not show.
pub const FEWEST: usize = 3;
/// Deals that are tried; of more there are, so many are drawn.
pub const MOST_DEALS: usize = 5_000;
/// The same runs give the same answer.
const SEED: u64 = 0x10c2_3e7e;

/// A change between two sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The interval of the factor from before to after.
    pub interval: (f64, f64),
    /// The probability of such a change by chance, for [`largest_discovery`].
    pub p: f64,
}

impl Change {
    /// Whether the interval has no room for "no change".
    pub fn excludes_none(&self) -> bool {
        excludes_none(self.interval)
    }
}

/// Whether an interval of factors has no room for "no change".
pub fn excludes_none((low, high): (f64, f64)) -> bool {
    low > 1.0 || high < 1.0
}

/// What is typical of some runs: the geometric mean where all values of both sides are above zero, so that one disturbed run
/// counts less; else the arithmetic one. `None` of nothing.
pub fn typical(values: &[f64], other: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    match values.is_empty() {
        true => None,
        // The logarithm of equal values is rounded.
        false if values.iter().all(|&value| value == values[0]) => Some(values[0]),
        false if all_positive(values, other) => Some(mean_and_variance(&logs(values)).0.exp()),
        false => Some(values.iter().sum::<f64>() / n),
    }
}

/// Compares sides; remembers the deals of each number of runs.
#[derive(Debug, Default)]
pub struct TwoSamples {
    deals: RefCell<HashMap<(usize, usize), Rc<Deals>>>,
}

impl TwoSamples {
    /// The change from `before` to `after`, whose values are not negative. `counted`: how many events the values of each side
    /// count, if they do; a count of N varies by its root at least, however alike the few runs are.
    ///
    /// `None` where nothing can be claimed: a side has fewer than [`FEWEST`] values, or some are 0 and there are too few deals.
    pub fn change(
        &self,
        before: &[f64],
        after: &[f64],
        counted: Option<[f64; 2]>,
    ) -> Option<Change> {
        if before.len() < FEWEST || after.len() < FEWEST {
            return None;
        }
        let deals = Rc::clone(
            self.deals
                .borrow_mut()
                .entry((before.len(), after.len()))
                .or_insert_with(|| Rc::new(Deals::new(before.len(), after.len()))),
        );
        if !all_positive(before, after) {
            let (low, high, dealt) = deals.factors(before, after, |a, b| b / a, 1.0)?;
            let p = t_tests(before, after, None).p.max(dealt);
            return Some(Change { interval: (low.max(0.0), high), p });
        }
        let (before, after) = (logs(before), logs(after));
        let by_t = t_tests(&before, &after, counted);
        let (mut low, mut high) = (by_t.low, by_t.high);
        let mut p = by_t.p;
        if let Some((low_dealt, high_dealt, dealt)) =
            deals.factors(&before, &after, |a, b| b - a, 0.0)
        {
            (low, high, p) = (low.min(low_dealt), high.max(high_dealt), p.max(dealt));
        }
        Some(Change { interval: (low.exp(), high.exp()), p })
    }
}

/// The largest probability among `all` that is a discovery, if at most `rate` of the discoveries may be false (Benjamini and
/// Hochberg 1995). If nothing has changed, at most `rate` of all reports have a discovery.
pub fn largest_discovery(mut all: Vec<f64>, rate: f64) -> Option<f64> {
    all.sort_unstable_by(f64::total_cmp);
    let of = all.len() as f64;
    let last = all.iter().enumerate().rfind(|&(rank, &p)| p <= rate * (rank + 1) as f64 / of);
    last.map(|(_, &p)| p)
}

/// Other ways to deal the runs out to the two sides: which of each side change places.
#[derive(Debug)]
struct Deals {
    /// By deal the numbers of the runs before that leave, and of those after that come.
    swaps: Vec<(Vec<u32>, Vec<u32>)>,
}

impl Deals {
    fn new(before: usize, after: usize) -> Self {
        let all = before + after;
        let mut swaps = Vec::new();
        let mut swap = |is_before: &dyn Fn(usize) -> bool| {
            let leave: Vec<u32> =
                (0..before as u32).filter(|&run| !is_before(run as usize)).collect();
            let come = (0..after as u32).filter(|&run| is_before(before + run as usize)).collect();
            if !leave.is_empty() {
                swaps.push((leave, come));
            }
        };
        if choices(all, before) <= MOST_DEALS as f64 {
            // Gosper's: the next larger number with as many bits.
            let mut mask = (1_u64 << before) - 1;
            while mask < 1_u64 << all {
                swap(&|run| (mask >> run) & 1 == 1);
                let lowest = mask & mask.wrapping_neg();
                let ripple = mask + lowest;
                mask = ripple | (((mask ^ ripple) >> 2) / lowest);
            }
        } else {
            let mut random = fastrand::Rng::with_seed(SEED);
            let mut order: Vec<usize> = (0..all).collect();
            for _ in 0..MOST_DEALS {
                random.shuffle(&mut order);
                let mut is_before = vec![false; all];
                order[..before].iter().for_each(|&run| is_before[run] = true);
                swap(&|run| is_before[run]);
            }
        }
        Self { swaps }
    }

    /// The interval of factors by all deals, and the part of the deals that are a larger change than the real one, which has
    /// the factor `none` where there is no change. `None` where there are too few for [`COVERAGE`], or too few swap more than 0
    /// for 0.
    fn factors(
        &self,
        before: &[f64],
        after: &[f64],
        factor: fn(f64, f64) -> f64,
        none: f64,
    ) -> Option<(f64, f64, f64)> {
        let tail = (1.0 - COVERAGE) / 2.0 * (self.swaps.len() + 1) as f64;
        if tail < 1.0 {
            return None;
        }
        let sum =
            |values: &[f64], of: &[u32]| of.iter().map(|&run| values[run as usize]).sum::<f64>();
        let mut factors: Vec<f64> = self
            .swaps
            .iter()
            .map(|(leave, come)| {
                (sum(before, leave) / leave.len() as f64, sum(after, come) / come.len() as f64)
            })
            .map(|(leave, come)| factor(leave, come))
            .filter(|factor| !factor.is_nan())
            .collect();
        // 0 for 0 changes nothing, so such a deal is no smaller and no larger than the real one.
        let equal = (self.swaps.len() + 1 - factors.len()) as f64;
        factors.sort_unstable_by(f64::total_cmp);
        let skipped = (tail - equal + 1e-9).floor();
        if skipped < 0.0 || skipped as usize >= factors.len() {
            return None;
        }
        let skipped = skipped as usize;
        let below = factors.partition_point(|&factor| factor <= none + 1e-12);
        let above = factors.len() - factors.partition_point(|&factor| factor < none - 1e-12);
        let dealt = 2.0 * below.min(above) as f64 / (self.swaps.len() + 1) as f64;
        Some((factors[skipped], factors[factors.len() - 1 - skipped], dealt.min(1.0)))
    }
}

/// How many ways there are to choose `some` of `all`.
fn choices(all: usize, some: usize) -> f64 {
    (0..some).fold(1.0, |product, at| product * (all - at) as f64 / (at + 1) as f64)
}

/// The difference of two means by the t tests.
struct ByT {
    low: f64,
    high: f64,
    p: f64,
}

fn t_tests(before: &[f64], after: &[f64], counted: Option<[f64; 2]>) -> ByT {
    let [n, m] = [before.len() as f64, after.len() as f64];
    let ((before, before_variance), (after, after_variance)) =
        (mean_and_variance(before), mean_and_variance(after));
    let difference = after - before;
    let [least_before, least_after] =
        counted.map_or([0.0; 2], |counts| counts.map(|count| 1.0 / count.max(1.0)));
    let (of_before, of_after) =
        ((before_variance / n).max(least_before), (after_variance / m).max(least_after));
    let sum = of_before + of_after;
    if sum <= (difference.abs() * 1e-12).powi(2) {
        let p = if difference == 0.0 { 1.0 } else { 0.0 };
        return ByT { low: difference, high: difference, p };
    }
    let welch = sum * sum / (of_before.powi(2) / (n - 1.0) + of_after.powi(2) / (m - 1.0));
    let pooled = ((n - 1.0) * before_variance + (m - 1.0) * after_variance) / (n + m - 2.0);
    let pooled = (pooled * (1.0 / n + 1.0 / m)).max(least_before + least_after);
    let (mut half, mut p) = (0.0_f64, 0.0_f64);
    for (variance, freedom) in [(sum, welch), (pooled, n + m - 2.0)] {
        let t = StudentsT::new(0.0, 1.0, freedom).expect("more than no degrees of freedom");
        half = half.max(t.inverse_cdf(0.5 + COVERAGE / 2.0) * variance.sqrt());
        p = p.max(2.0 * t.sf(difference.abs() / variance.sqrt()));
    }
    ByT { low: difference - half, high: difference + half, p }
}

fn all_positive(before: &[f64], after: &[f64]) -> bool {
    before.iter().chain(after).all(|&value| value > 0.0)
}

fn logs(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| value.ln()).collect()
}

fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    // Of equal values exactly that value: the sum of many is rounded.
    if values.windows(2).all(|pair| pair[0] == pair[1]) {
        return (values[0], 0.0);
    }
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, squares / (n - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(before: &[f64], after: &[f64]) -> Option<Change> {
        TwoSamples::default().change(before, after, None)
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6 * b.abs().max(1.0)
    }

    #[test]
    fn the_textbook_intervals() {
        // Logarithms 1, 2, 3 and 4, 5, 6: the means differ by 3, the error is sqrt(2/3), and t of 4 degrees is 2.776445.
        let e = |values: [f64; 3]| values.map(f64::exp);
        let found = change(&e([1.0, 2.0, 3.0]), &e([4.0, 5.0, 6.0])).unwrap();
        let half = 2.776_445_105 * (2.0_f64 / 3.0).sqrt();
        assert!(close(found.interval.0.ln(), 3.0 - half), "{found:?}");
        assert!(close(found.interval.1.ln(), 3.0 + half), "{found:?}");
        // t = 3.674235 of 4 degrees.
        assert!((found.p - 0.021_312).abs() < 1e-5, "{found:?}");
    }

    #[test]
    fn each_deal_has_one_factor() {
        // 70 deals: one at either end may be left out, so the ends are the smallest and largest factor of a swap.
        let (before, after) = ([1.0, 2.0, 0.0, 4.0], [8.0, 9.0, 10.0, 11.0]);
        let found = change(&before, &after).unwrap();
        assert!(close(found.interval.0, 8.0 / 4.0) && found.interval.1.is_infinite(), "{found:?}");
    }

    #[test]
    fn runs_that_are_alike_leave_no_doubt() {
        assert_eq!(change(&[10.0; 3], &[10.0; 3]).unwrap().interval, (1.0, 1.0));
        let (low, high) = change(&[10.0; 3], &[15.0; 3]).unwrap().interval;
        assert!(close(low, 1.5) && close(high, 1.5));
        assert_eq!(change(&[0.0; 4], &[0.0; 4]), None, "any multiple of 0 is 0");
        assert_eq!(change(&[0.0; 4], &[5.0; 4]).unwrap().interval, (f64::INFINITY, f64::INFINITY));
    }

    #[test]
    fn few_counted_events_are_in_doubt_however_alike_the_runs() {
        let compare =
            |events| TwoSamples::default().change(&[1.0; 3], &[2.0; 3], Some(events)).unwrap();
        assert!(!compare([3.0, 6.0]).excludes_none());
        assert!(compare([300.0, 600.0]).excludes_none());
    }

    #[test]
    fn two_runs_or_three_with_zeros_claim_nothing() {
        assert!(change(&[1.0, 1.0], &[9.0; 9]).is_none() && change(&[9.0; 9], &[]).is_none());
        assert!(change(&[0.0; 3], &[9.0; 3]).is_none());
    }

    #[test]
    fn one_disturbed_run_counts_less() {
        assert!(close(typical(&[1.0, 1.0, 1000.0], &[1.0]).unwrap(), 10.0));
        assert!(close(typical(&[1.0, 1.0, 1000.0], &[0.0]).unwrap(), 334.0));
        assert_eq!(typical(&[], &[1.0]), None);
    }

    #[test]
    fn discoveries_are_those_of_the_paper() {
        // The example of Benjamini and Hochberg 1995: at 5 % the first four of 15.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        assert_eq!(largest_discovery(p.to_vec(), 0.05), Some(0.0095));
        assert_eq!(largest_discovery(vec![0.2, 0.9], 0.05), None);
        assert_eq!(largest_discovery(Vec::new(), 0.05), None);
    }
}
