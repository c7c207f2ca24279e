//! Rounds, in each of which all arms take turns: what disturbs the machine hits all alike.

use super::fault::Fault;
use lockwright_measure::stats::{self, Estimate};

/// Runs each arm once a round. Returns the outcomes by arm; `run` gets the number of the round,
/// from 1.
///
/// # Errors
/// The first of `run`'s.
pub fn in_turns<A, O>(
    arms: &[A],
    rounds: usize,
    mut run: impl FnMut(usize, &A) -> Result<O, Fault>,
) -> Result<Vec<Vec<O>>, Fault> {
    let mut outcomes: Vec<Vec<O>> = arms.iter().map(|_| Vec::new()).collect();
    for round in 1..=rounds {
        for (arm, outcomes) in arms.iter().zip(&mut outcomes) {
            outcomes.push(run(round, arm)?);
        }
    }
    Ok(outcomes)
}

/// The estimate of the ratio of two arms' values in the same rounds.
pub fn against<O>(base: &[O], of: &[O], value: impl Fn(&O) -> f64) -> Estimate {
    let pairs = of.iter().zip(base);
    stats::estimate(&pairs.map(|(of, base)| value(of) / value(base)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arms_take_turns() {
        let mut order = Vec::new();
        let outcomes = in_turns(&['a', 'b'], 2, |round, arm| {
            order.push((round, *arm));
            Ok(format!("{arm}{round}"))
        });
        assert_eq!(order, [(1, 'a'), (1, 'b'), (2, 'a'), (2, 'b')]);
        assert_eq!(outcomes.unwrap(), [["a1", "a2"], ["b1", "b2"]]);
    }

    #[test]
    fn ratios_are_of_the_same_round() {
        assert_eq!(against(&[1.0, 10.0], &[3.0, 20.0], |value| *value).median, 2.5);
    }
}
