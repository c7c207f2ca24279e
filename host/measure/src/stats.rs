//! The estimate of a ratio from pairs of runs: its median and how certain that is.

use serde::Serialize;

/// The median of the pairwise ratios with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The median.
    pub median: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The interval's confidence: at least the one that was wanted, if there are pairs enough for
    /// that (six for [`USUAL`]), else what the pairs give.
    pub confidence: f64,
}

/// The confidence that is usual.
pub const USUAL: f64 = 0.95;

/// The median of a sample.
pub fn median(sample: &[f64]) -> f64 {
    let sorted = sorted(sample);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

/// Median and interval of a sample, from its order statistics alone: no distribution is assumed,
/// and a round that something disturbed counts as one pair, however far out it lies.
///
/// The median of the population lies below the k-th smallest of n values with the probability that
/// a fair coin shows fewer than k heads in n throws. So the k-th smallest and the k-th largest
/// enclose it with one minus twice that; k is the largest that still gives 95 %.
pub fn estimate(sample: &[f64]) -> Estimate {
    estimate_at(sample, USUAL)
}

/// As [`estimate`], with an interval of at least this confidence.
pub fn estimate_at(sample: &[f64], wanted: f64) -> Estimate {
    assert!(!sample.is_empty(), "no pairs");
    let sorted = sorted(sample);
    let n = sorted.len();
    let (mut rank, mut confidence) = (1, 1.0 - 2.0 * fewer_heads(1, n));
    while 2 * (rank + 1) <= n && 1.0 - 2.0 * fewer_heads(rank + 1, n) >= wanted {
        rank += 1;
        confidence = 1.0 - 2.0 * fewer_heads(rank, n);
    }
    Estimate { median: median(sample), low: sorted[rank - 1], high: sorted[n - rank], confidence }
}

/// Draws of [`bootstrap`].
const DRAWS: usize = 2_000;

/// Median and interval of a sample by drawing it again and again, with replacement (Efron's
/// bootstrap, percentile interval): the interval holds the medians of the draws, except a fortieth
/// at either end. One value gives no interval. The same `seed` gives the same draws.
pub fn bootstrap(sample: &[f64], seed: u64) -> Estimate {
    let median_of_all = median(sample);
    if sample.len() < 2 {
        return Estimate {
            median: median_of_all,
            low: median_of_all,
            high: median_of_all,
            confidence: 0.0,
        };
    }
    let mut random = fastrand::Rng::with_seed(seed);
    let mut draw = vec![0.0; sample.len()];
    let mut medians = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        draw.fill_with(|| sample[random.usize(..sample.len())]);
        medians.push(median(&draw));
    }
    medians.sort_by(f64::total_cmp);
    let tail = DRAWS / 40;
    let (low, high) = (medians[tail], medians[DRAWS - 1 - tail]);
    Estimate { median: median_of_all, low, high, confidence: 0.95 }
}

/// Probability of fewer than `k` heads in `n` throws.
fn fewer_heads(k: usize, n: usize) -> f64 {
    let mut term = 0.5f64.powi(i32::try_from(n).expect("few rounds"));
    let mut sum = 0.0;
    for heads in 0..k {
        sum += term;
        term *= (n - heads) as f64 / (heads + 1) as f64;
    }
    sum
}

fn sorted(sample: &[f64]) -> Vec<f64> {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_textbook_ranks() {
        // Published tables: n = 20 gives the 6th and the 15th at 95.9 %; n = 10 the 2nd and the 9th
        // at 97.9 %.
        let sample: Vec<f64> = (1..=20).map(f64::from).collect();
        let e = estimate(&sample);
        assert_eq!((e.median, e.low, e.high), (10.5, 6.0, 15.0));
        assert!((e.confidence - 0.9586).abs() < 1e-4, "{}", e.confidence);
        let e = estimate(&sample[..10]);
        assert_eq!((e.low, e.high), (2.0, 9.0));
        assert!((e.confidence - 0.9785).abs() < 1e-4, "{}", e.confidence);
    }

    #[test]
    fn few_pairs_claim_little() {
        let e = estimate(&[1.2, 1.0]);
        assert_eq!((e.median, e.low, e.high, e.confidence), (1.1, 1.0, 1.2, 0.5));
        assert_eq!(estimate(&[3.0]).confidence, 0.0);
    }

    #[test]
    fn draws_enclose_the_median_and_are_the_same_each_time() {
        let sample: Vec<f64> = (1..=20).map(f64::from).collect();
        let drawn = bootstrap(&sample, 3);
        assert_eq!(drawn, bootstrap(&sample, 3));
        assert_eq!(drawn.median, 10.5);
        // The median of 20 has, in such a sample, an interval about as wide as by ranks: 6 to 15.
        assert!(
            (5.0..=8.5).contains(&drawn.low) && (12.5..=16.0).contains(&drawn.high),
            "{drawn:?}"
        );
        assert_eq!(bootstrap(&[2.0; 9], 3).low, 2.0);
        assert_eq!(bootstrap(&[2.0], 3).confidence, 0.0);
    }

    #[test]
    fn more_confidence_takes_a_wider_interval() {
        let sample: Vec<f64> = (1..=10).map(f64::from).collect();
        let e = estimate_at(&sample, 0.99);
        assert_eq!((e.low, e.high), (1.0, 10.0));
        assert!(e.confidence >= 0.99, "{}", e.confidence);
    }

    #[test]
    fn one_disturbed_round_moves_nothing() {
        let calm = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8];
        let mut disturbed = calm;
        disturbed[8] = 100.0;
        assert_eq!(median(&calm), median(&disturbed));
        assert_eq!(estimate(&calm).high, estimate(&disturbed).high);
    }
}
