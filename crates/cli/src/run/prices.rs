//! What single things take, or are longer for being watched.

use serde::{Deserialize, Serialize};

/// Nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prices {
    /// A lock and unlock, uncontended.
    pub pair_ns: f64,
    /// A wait for a lock.
    pub wait_ns: f64,
    /// A call that may sleep, made with a lock held.
    pub call_ns: f64,
}

impl Prices {
    /// By how much these are more than `less`: less than nothing where that was disturbed more.
    pub fn more_than(&self, less: &Self) -> Self {
        Self {
            pair_ns: self.pair_ns - less.pair_ns,
            wait_ns: self.wait_ns - less.wait_ns,
            call_ns: self.call_ns - less.call_ns,
        }
    }

    /// The median of each, not less than nothing.
    pub fn median(samples: &[Self]) -> Self {
        let of = |price: fn(&Self) -> f64| {
            let mut all: Vec<f64> = samples.iter().map(price).collect();
            all.sort_by(f64::total_cmp);
            all.get(all.len() / 2).map_or(0.0, |&median| median.max(0.0))
        };
        Self { pair_ns: of(|p| p.pair_ns), wait_ns: of(|p| p.wait_ns), call_ns: of(|p| p.call_ns) }
    }

    /// They can be what they say they are.
    pub fn are_plausible(&self) -> bool {
        [self.pair_ns, self.wait_ns, self.call_ns].iter().all(|ns| ns.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pair_ns: f64) -> Prices {
        Prices { pair_ns, wait_ns: 2.0 * pair_ns, call_ns: 5.0 }
    }

    #[test]
    fn rounds_that_were_disturbed_do_not_show() {
        // A processor that shares its core runs at two speeds: natively the slow one, watched the
        // fast one, and the other way round.
        assert_eq!(Prices::median(&[of(11.0), of(-40.0), of(60.0)]), of(11.0));
        assert_eq!(Prices::median(&[of(-40.0)]), Prices { call_ns: 5.0, ..of(0.0) });
        assert_eq!(Prices::median(&[]).pair_ns, 0.0);
    }

    #[test]
    fn what_is_no_number_is_not_believed() {
        assert!(of(-3.0).are_plausible() && !of(f64::NAN).are_plausible());
        assert_eq!(of(7.0).more_than(&of(4.0)), Prices { call_ns: 0.0, ..of(3.0) });
    }
}
