//! Where throughput and fairness conflict: the locks of which no other has more of both.

use serde::Serialize;

use super::overall::Overall;

/// Locks that ran in all cells, the fastest first: no lock beats one of these in one measure without losing in the
/// other.
#[derive(Debug, PartialEq, Serialize)]
pub struct Frontier {
    /// Throughput, as the mean of the ratios to the best, and min/max.
    pub fair: Vec<(&'static str, f64, f64)>,
    /// Throughput, and the p99.9 of waits in nanoseconds.
    pub prompt: Vec<(&'static str, f64, f64)>,
}

/// That of all locks in a sweep of so many cells.
pub fn frontier(locks: &[Overall], cells: usize) -> Frontier {
    let everywhere = || locks.iter().filter(|lock| lock.best.cells == cells);
    let fair = everywhere().filter_map(|of| Some((of.lock, of.best.mean, of.min_over_max?)));
    let prompt = everywhere().filter_map(|of| Some((of.lock, of.best.mean, of.wait_p99_9?)));
    Frontier {
        fair: undominated(fair.collect(), |of| of),
        prompt: undominated(prompt.collect(), |of| -of),
    }
}

/// Those than which no other has more throughput and is better, by a number that `good` makes larger.
fn undominated(
    mut locks: Vec<(&'static str, f64, f64)>,
    good: fn(f64) -> f64,
) -> Vec<(&'static str, f64, f64)> {
    // At equal throughput the better one comes first.
    locks.sort_by(|a, b| b.1.total_cmp(&a.1).then(good(b.2).total_cmp(&good(a.2))));
    let mut best = f64::NEG_INFINITY;
    locks.retain(|(_, _, of)| {
        let is_better = good(*of) > best;
        best = best.max(good(*of));
        is_better
    });
    locks
}

impl Frontier {
    /// In words; none: there is nothing to choose between.
    pub fn tell(&self, time: fn(f64) -> String) -> Option<String> {
        let list = |locks: &[(&str, f64, f64)], show: &dyn Fn(f64) -> String| {
            let one =
                |(lock, mean, of): &(&str, f64, f64)| format!("{lock} {mean:.2} and {}", show(*of));
            locks.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        (!self.fair.is_empty()).then(|| {
            format!(
                "The frontier, of locks that ran everywhere: no other has more throughput (mean of best) and is fairer \
                 (min/max) than each of {}. Nor has any more throughput and waits that end sooner (p99.9) than each of \
                 {}.",
                list(&self.fair, &|of| format!("{of:.2}")),
                list(&self.prompt, &time)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCKS: [(&str, f64, f64); 5] = [
        ("slow and fair", 0.1, 0.9),
        ("fast", 0.9, 0.5),
        ("beaten", 0.6, 0.4),
        ("between", 0.7, 0.7),
        ("as fast, less fair", 0.9, 0.3),
    ];

    #[test]
    fn who_is_beaten_in_both_is_left_out() {
        let names = |good| undominated(LOCKS.to_vec(), good).into_iter().map(|(name, ..)| name);
        assert_eq!(names(|of| of).collect::<Vec<_>>(), ["fast", "between", "slow and fair"]);
        // Where less is better.
        assert_eq!(names(|of| -of).collect::<Vec<_>>(), ["as fast, less fair"]);
    }

    #[test]
    fn it_is_told_from_the_fastest_on() {
        let frontier = Frontier {
            fair: undominated(LOCKS.to_vec(), |of| of),
            prompt: undominated(LOCKS.to_vec(), |of| -of),
        };
        let text = frontier.tell(|ns| format!("{ns} ns")).expect("locks");
        assert!(
            text.contains("fast 0.90 and 0.50, between 0.70 and 0.70, slow and fair"),
            "{text}"
        );
        assert!(text.ends_with("each of as fast, less fair 0.90 and 0.3 ns."), "{text}");
        let nothing = Frontier { fair: Vec::new(), prompt: Vec::new() };
        assert!(nothing.tell(|ns| ns.to_string()).is_none());
    }
}
