//! How times are distributed: the ledger's buckets, in time.

/// Picoseconds in a nanosecond: a tick is less than one of the latter.
const PS: f64 = 1000.0;

/// Counts by time. Processes whose clocks run differently have different buckets; they stand side
/// by side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// By the time that stands for the bucket, in picoseconds, and how many. In order: most have a few, and of
    /// those a list takes a sixth of what a tree does.
    counts: Vec<(u64, u64)>,
}

impl Histogram {
    /// Counts `count` more times of about `ns`.
    pub fn record(&mut self, ns: f64, count: u64) {
        if count > 0 {
            self.add_to((ns * PS) as u64, count);
        }
    }

    fn add_to(&mut self, ps: u64, count: u64) {
        // What is added mostly comes in order.
        let at = match self.counts.last() {
            Some(&(last, _)) if last >= ps => self.counts.binary_search_by_key(&ps, |of| of.0),
            _ => Err(self.counts.len()),
        };
        match at {
            Ok(at) => self.counts[at].1 = self.counts[at].1.saturating_add(count),
            Err(at) => {
                if self.counts.len() < 4 {
                    self.counts.reserve_exact(1);
                }
                self.counts.insert(at, (ps, count));
            }
        }
    }

    /// Takes `other` in.
    pub fn add(&mut self, other: &Self) {
        if self.counts.is_empty() {
            self.counts.clone_from(&other.counts);
            return;
        }
        for &(ps, count) in &other.counts {
            self.add_to(ps, count);
        }
    }

    /// Times and how many there are of each, the shortest first; none has the count 0.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.counts.iter().map(|&(ps, count)| (ps as f64 / PS, count))
    }

    /// How many times were counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum: u64, &(_, count)| sum.saturating_add(count))
    }

    /// The time that `percent` of all do not exceed (the nearest-rank definition); `None` of
    /// nothing.
    pub fn percentile_ns(&self, percent: f64) -> Option<f64> {
        let rank = ((self.count() as f64 * percent / 100.0).ceil() as u64).max(1);
        let mut seen = 0;
        self.buckets().find_map(|(ns, count)| {
            seen = count.saturating_add(seen);
            (seen >= rank).then_some(ns)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let mut histogram = Histogram::default();
        (1..=100).for_each(|ns| histogram.record(f64::from(ns), 1));
        assert_eq!(histogram.percentile_ns(50.0), Some(50.0));
        assert_eq!(histogram.percentile_ns(99.0), Some(99.0));
        assert_eq!(histogram.percentile_ns(100.0), Some(100.0));
        assert_eq!(histogram.percentile_ns(0.0), Some(1.0));
        assert_eq!(Histogram::default().percentile_ns(50.0), None);
    }

    #[test]
    fn sums_are_over_all() {
        let (mut a, mut b) = (Histogram::default(), Histogram::default());
        a.record(10.5, 3);
        b.record(10.5, 1);
        b.record(20.0, 2);
        b.record(30.0, 0);
        a.add(&b);
        assert_eq!(a.buckets().collect::<Vec<_>>(), [(10.5, 4), (20.0, 2)]);
        assert_eq!(a.count(), 6);
    }
}
