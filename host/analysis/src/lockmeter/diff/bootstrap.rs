//! How sure a change is: the same runs drawn again and again, with replacement, and what change
//! each draw would have shown (Efron's bootstrap, percentile interval).

use super::metric::{Metric, Sample, estimate};

/// Draws.
pub const RESAMPLES: usize = 10_000;
/// Part of the draws that the interval covers.
pub const COVERAGE: f64 = 0.95;
/// The same ledgers give the same answer.
const SEED: u64 = 0x10c2_3e7e;

/// The draws of runs, the same for every number that is compared.
#[derive(Debug)]
pub struct Bootstrap {
    before: Vec<usize>,
    after: Vec<usize>,
    runs: (usize, usize),
}

impl Bootstrap {
    /// Draws from so many runs a side; `None` where a side has less than two, which vary in no way.
    pub fn new(before: usize, after: usize) -> Option<Self> {
        if before < 2 || after < 2 {
            return None;
        }
        let mut random = fastrand::Rng::with_seed(SEED);
        let mut draw =
            |runs: usize| (0..runs * RESAMPLES).map(|_| random.usize(..runs)).collect::<Vec<_>>();
        Some(Self { before: draw(before), after: draw(after), runs: (before, after) })
    }

    /// The interval of the ratio of after to before; `None` if most draws have nothing to compare.
    pub fn interval(
        &self,
        metric: Metric,
        before: &[Sample],
        after: &[Sample],
    ) -> Option<(f64, f64)> {
        let draws = self.before.chunks_exact(self.runs.0).zip(self.after.chunks_exact(self.runs.1));
        let mut ratios: Vec<f64> = draws
            .filter_map(|(in_before, in_after)| {
                let before = estimate(metric, in_before.iter().map(|&run| &before[run]))?;
                let after = estimate(metric, in_after.iter().map(|&run| &after[run]))?;
                Some(ratio(before, after))
            })
            .collect();
        if ratios.len() < RESAMPLES / 2 {
            return None;
        }
        ratios.sort_by(f64::total_cmp);
        let tail = (ratios.len() as f64 * (1.0 - COVERAGE) / 2.0) as usize;
        Some((ratios[tail], ratios[ratios.len() - 1 - tail]))
    }
}

/// After as a multiple of before: 1 of nothing to nothing, infinite where there was nothing before.
pub fn ratio(before: f64, after: f64) -> f64 {
    if before == after { 1.0 } else { after / before }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lockmeter::model::{Lock, MeterReport, Numbers, Times};

    fn waits(ns: &[f64]) -> Vec<Sample> {
        let run = MeterReport { elapsed_ns: 1_000_000_000, ..MeterReport::default() };
        let lock = |&ns: &f64| {
            let wait = Times { count: 1, total_ns: ns, max_ns: ns, ..Times::default() };
            Lock {
                name: String::new(),
                is_symbol: true,
                by_place: None,
                kind: 1,
                created: std::rc::Rc::default(),
                origin: crate::finding::LockOrigin::Static,
                locks: 1,
                measured_ns: 1,
                sites: Vec::new(),
                total: Numbers { wait, ..Numbers::default() },
                readers: None,
                blame: Vec::new(),
                instances: Vec::new(),
            }
        };
        ns.iter().map(|ns| Sample::lock(&run, &lock(ns))).collect()
    }

    fn interval(before: &[f64], after: &[f64]) -> (f64, f64) {
        let bootstrap = Bootstrap::new(before.len(), after.len()).unwrap();
        bootstrap.interval(Metric::Wait, &waits(before), &waits(after)).unwrap()
    }

    #[test]
    fn runs_that_are_alike_leave_no_doubt() {
        assert_eq!(interval(&[10.0; 3], &[15.0; 3]), (1.5, 1.5));
        assert_eq!(interval(&[0.0; 3], &[0.0; 3]), (1.0, 1.0));
        assert_eq!(interval(&[0.0; 3], &[5.0; 3]), (f64::INFINITY, f64::INFINITY));
    }

    #[test]
    fn the_interval_is_that_of_the_distribution() {
        // The mean of 40 runs of 90 or 110 has a standard deviation of 10 / sqrt(40) = 1.58 %; of
        // the ratio of two of them, 2.24 %; 1.96 times that to either side.
        let runs: Vec<f64> = (0..40).map(|run| if run % 2 == 0 { 90.0 } else { 110.0 }).collect();
        let (low, high) = interval(&runs, &runs);
        assert!((low - 0.957).abs() < 0.004 && (high - 1.045).abs() < 0.004, "{low} {high}");
        assert_eq!(interval(&runs, &runs), (low, high), "the same each time");
    }

    #[test]
    fn one_run_says_nothing_about_the_next() {
        assert!(Bootstrap::new(1, 9).is_none() && Bootstrap::new(9, 1).is_none());
        assert!(Bootstrap::new(0, 0).is_none());
    }
}
