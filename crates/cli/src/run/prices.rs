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
    /// The least of each: what disturbs a measurement makes it longer, never shorter. `None` of
    /// nothing.
    pub fn least(samples: &[Self]) -> Option<Self> {
        samples.iter().copied().reduce(|a, b| Self {
            pair_ns: a.pair_ns.min(b.pair_ns),
            wait_ns: a.wait_ns.min(b.wait_ns),
            call_ns: a.call_ns.min(b.call_ns),
        })
    }

    /// By how much these are more than `less`; not less than nothing.
    pub fn more_than(&self, less: &Self) -> Self {
        let more = |a: f64, b: f64| (a - b).max(0.0);
        Self {
            pair_ns: more(self.pair_ns, less.pair_ns),
            wait_ns: more(self.wait_ns, less.wait_ns),
            call_ns: more(self.call_ns, less.call_ns),
        }
    }

    /// They can be what they say they are.
    pub fn are_plausible(&self) -> bool {
        [self.pair_ns, self.wait_ns, self.call_ns].iter().all(|ns| ns.is_finite() && *ns >= 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_rounds_do_not_show() {
        let of = |pair_ns| Prices { pair_ns, wait_ns: 2.0 * pair_ns, call_ns: 5.0 };
        assert_eq!(Prices::least(&[of(3.0), of(1000.0), of(2.5)]), Some(of(2.5)));
        assert_eq!(Prices::least(&[]), None);
    }

    #[test]
    fn nothing_costs_less_than_nothing() {
        let of = |pair_ns, wait_ns| Prices { pair_ns, wait_ns, call_ns: 5.0 };
        let more = Prices { pair_ns: 0.0, wait_ns: 3.0, call_ns: 0.0 };
        assert_eq!(of(2.0, 7.0).more_than(&of(3.0, 4.0)), more);
        assert!(more.are_plausible() && !of(f64::NAN, 1.0).are_plausible());
    }
}
