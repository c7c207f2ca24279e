//! The conclusions from the figures: pure arithmetic.

use lockwright_measure::stats::{self, Estimate, USUAL};
use serde::Serialize;

/// Whether more is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// It is: operations a second.
    Higher,
    /// Less is: a time.
    Lower,
}

impl Better {
    /// How many times as fast `of` is as `base`.
    fn speed(self, of: f64, base: f64) -> f64 {
        match self {
            Self::Higher => of / base,
            Self::Lower => base / of,
        }
    }
}

/// The verdict on a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is faster than the C library's locks.
    Faster,
    /// It is slower.
    Slower,
    /// It may be neither, or by no more than two runs with the same locks differ.
    NoDifference,
    /// There are too few rounds to tell.
    TooFewRounds,
}

/// A lock against the C library's.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// How many times as fast it is.
    pub speed: Estimate,
    /// What that means.
    pub verdict: Verdict,
}

/// What can be said.
#[derive(Debug)]
pub struct Outcome {
    /// How many times as fast the second native run is as the first: 1, except by chance.
    pub control: Estimate,
    /// The locks, in their order.
    pub locks: Vec<Judged>,
    /// The fastest lock, of those that are faster than the C library's.
    pub fastest: Option<usize>,
    /// The locks of which nobody can tell that they are slower than the fastest.
    pub as_fast: Vec<usize>,
    /// Rounds that it takes to tell anything.
    pub needed: usize,
}

/// Judges the figures of each round: two native runs, then each lock. With several locks the
/// confidence that is wanted of each is higher, so that all intervals together are right with 95 %
/// (Bonferroni).
pub fn judge(better: Better, rounds: &[Vec<f64>]) -> Outcome {
    let locks = rounds[0].len() - 2;
    let wanted = 1.0 - (1.0 - USUAL) / locks.max(1) as f64;
    let needed = rounds_for(wanted);
    let estimate = |speed: &dyn Fn(&[f64]) -> f64| {
        stats::estimate_at(&rounds.iter().map(|round| speed(round)).collect::<Vec<_>>(), wanted)
    };
    let control = estimate(&|round| better.speed(round[1], round[0]));
    let native = |round: &[f64]| (round[0] * round[1]).sqrt();
    let judged = (2..locks + 2).map(|arm| {
        let speed = estimate(&|round| better.speed(round[arm], native(round)));
        let enough = rounds.len() >= needed;
        Judged {
            speed,
            verdict: if enough { verdict(speed, control) } else { Verdict::TooFewRounds },
        }
    });
    let judged: Vec<Judged> = judged.collect();
    let faster = || (0..locks).filter(|&lock| judged[lock].verdict == Verdict::Faster);
    let median = |lock: usize| judged[lock].speed.median;
    let fastest = faster().max_by(|&a, &b| median(a).total_cmp(&median(b)));
    let as_fast = fastest.map_or_else(Vec::new, |fastest| {
        let against =
            |lock: usize| estimate(&|round| better.speed(round[lock + 2], round[fastest + 2]));
        let others = faster().filter(|&lock| lock != fastest);
        others.filter(|&lock| verdict(against(lock), control) == Verdict::NoDifference).collect()
    });
    Outcome { control, locks: judged, fastest, as_fast, needed }
}

/// A difference is one if the interval says so, and it is larger than the difference between two
/// runs with the same locks may be.
fn verdict(speed: Estimate, control: Estimate) -> Verdict {
    let chance = control.high.max(1.0 / control.low).max(1.0);
    if speed.low > 1.0 && speed.median > chance {
        Verdict::Faster
    } else if speed.high < 1.0 && speed.median < 1.0 / chance {
        Verdict::Slower
    } else {
        Verdict::NoDifference
    }
}

/// Rounds of which the smallest and the largest value enclose the median with this confidence.
fn rounds_for(wanted: f64) -> usize {
    (1..).find(|&rounds| 1.0 - 2.0 * 0.5f64.powi(rounds) >= wanted).map_or(1, |n| n as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten rounds, in which `native` varies by a percent from run to run, and so does each lock
    /// around `factor` times that.
    fn rounds(factors: &[f64]) -> Vec<Vec<f64>> {
        let noise = [0.995, 1.003, 0.998, 1.005, 1.001, 0.997, 1.004, 1.0, 0.996, 1.002];
        (0..10)
            .map(|round| {
                let at = |arm: usize| 100.0 * noise[(3 * arm + round) % 10];
                let locks = factors.iter().enumerate().map(|(lock, f)| f * at(lock + 2));
                [at(0), at(1)].into_iter().chain(locks).collect()
            })
            .collect()
    }

    fn verdicts(outcome: &Outcome) -> Vec<Verdict> {
        outcome.locks.iter().map(|judged| judged.verdict).collect()
    }

    #[test]
    fn the_fastest_is_found() {
        use Verdict::{Faster, NoDifference, Slower};
        let outcome = judge(Better::Lower, &rounds(&[0.8, 1.0, 1.2, 0.5]));
        assert_eq!(verdicts(&outcome), [Faster, NoDifference, Slower, Faster]);
        assert_eq!((outcome.fastest, outcome.as_fast), (Some(3), vec![]));
        let speed = outcome.locks[3].speed;
        assert!(speed.low <= 2.0 && 2.0 <= speed.high && speed.confidence >= 0.9875, "{speed:?}");
        // The same figures, where more is better.
        let outcome = judge(Better::Higher, &rounds(&[0.8, 1.0, 1.2, 0.5]));
        assert_eq!(verdicts(&outcome), [Slower, NoDifference, Faster, Slower]);
        assert_eq!(outcome.fastest, Some(2));
    }

    #[test]
    fn two_that_are_alike_are_both_fastest() {
        let outcome = judge(Better::Lower, &rounds(&[0.5, 0.5, 0.7]));
        let fastest = outcome.fastest.unwrap();
        assert_eq!(outcome.as_fast, [1 - fastest]);
    }

    #[test]
    fn equal_ones_make_no_difference() {
        let outcome = judge(Better::Lower, &rounds(&[1.0, 1.0]));
        assert_eq!(verdicts(&outcome), [Verdict::NoDifference; 2]);
        assert_eq!(outcome.fastest, None);
        let same = judge(Better::Lower, &vec![vec![5.0; 3]; 10]);
        assert_eq!(verdicts(&same), [Verdict::NoDifference]);
    }

    /// A difference that is there each time, but smaller than that of two runs with the same locks.
    #[test]
    fn less_than_the_control_shows_is_no_difference() {
        let mut rounds = vec![vec![100.0, 100.0, 97.0]; 10];
        assert_eq!(verdicts(&judge(Better::Lower, &rounds)), [Verdict::Faster]);
        for round in &mut rounds {
            round[1] = 95.0;
            round[2] = 94.0;
        }
        assert_eq!(verdicts(&judge(Better::Lower, &rounds)), [Verdict::NoDifference]);
    }

    #[test]
    fn few_rounds_tell_nothing() {
        assert_eq!((rounds_for(0.95), rounds_for(0.975)), (6, 7));
        let few = vec![vec![100.0, 100.0, 50.0]; 5];
        let outcome = judge(Better::Lower, &few);
        assert_eq!((verdicts(&outcome), outcome.needed), (vec![Verdict::TooFewRounds], 6));
        assert_eq!(outcome.fastest, None);
    }

    #[test]
    fn native_alone_is_the_control() {
        let outcome = judge(Better::Lower, &rounds(&[]));
        assert!(outcome.locks.is_empty() && outcome.fastest.is_none());
        assert!(outcome.control.low < 1.0 && outcome.control.high > 1.0, "{outcome:?}");
    }
}
