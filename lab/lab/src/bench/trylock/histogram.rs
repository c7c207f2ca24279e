//! How many exchanges successes took.

use serde::{Serialize, Serializer};

use crate::bench::report::grouped;

/// Numbers of exchanges that have a column each; more count in the last one. As many columns as the
/// longest published histogram has.
const NUMBERS: usize = 17;

/// Successes by their number of exchanges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Those without an exchange, of which one published histogram has 197, and ours none.
    without: u64,
    /// From 1.
    by_number: [u64; NUMBERS],
}

impl Histogram {
    /// Counts successes that took so many exchanges each.
    pub fn add(&mut self, exchanges: usize, successes: u64) {
        match exchanges.min(NUMBERS).checked_sub(1) {
            Some(at) => self.by_number[at] += successes,
            None => self.without += successes,
        }
    }

    /// All of several.
    pub fn sum<'h>(all: impl Iterator<Item = &'h Self>) -> Self {
        let mut sum = Self::default();
        for one in all {
            sum.without += one.without;
            sum.by_number.iter_mut().zip(one.by_number).for_each(|(sum, n)| *sum += n);
        }
        sum
    }

    /// Exchanges for each success that took any.
    pub fn mean(&self) -> f64 {
        let by_number = self.by_number.iter().zip(1..);
        let exchanges: u64 = by_number.map(|(n, exchanges)| n * exchanges).sum();
        exchanges as f64 / self.by_number.iter().sum::<u64>().max(1) as f64
    }

    /// Successes without an exchange.
    pub fn without(&self) -> u64 {
        self.without
    }

    /// The counts from one exchange up to the last that is not 0.
    pub fn text(&self) -> String {
        let used = self.by_number.iter().rposition(|n| *n != 0).map_or(0, |last| last + 1);
        self.by_number[..used].iter().map(|n| grouped(*n)).collect::<Vec<_>>().join(" ")
    }
}

/// The counts from one exchange on.
impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.by_number.serialize(serializer)
    }
}

impl From<&[(usize, u64)]> for Histogram {
    fn from(pairs: &[(usize, u64)]) -> Self {
        let mut histogram = Self::default();
        pairs.iter().for_each(|(exchanges, successes)| histogram.add(*exchanges, *successes));
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::published::TRYLOCK;

    #[test]
    fn the_published_means_are_those_of_their_histograms() {
        let last = &TRYLOCK[2];
        let [assume_free, load_first] =
            [&last.assume_free, &last.load_first].map(|one| Histogram::from(one.exchanges).mean());
        assert_eq!(format!("{assume_free:.3} {load_first:.3}"), "2.053 1.016");
    }

    #[test]
    fn counts_end_with_the_last() {
        let mut histogram = Histogram::from(&[(1, 1_000), (3, 2)][..]);
        assert_eq!(histogram.text(), "1,000 0 2");
        histogram.add(0, 1);
        histogram.add(NUMBERS + 1, 1);
        assert_eq!((histogram.without(), histogram.by_number[NUMBERS - 1]), (1, 1));
        assert_eq!(histogram.by_number[0], 1_000);
    }
}
