//! The counts and times of a lock, and figures that follow from them.

use super::histogram::Histogram;
use super::hold_error::HoldError;

/// Times of one sort: holds, waits, busy periods.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// How many.
    pub count: u64,
    /// Their exact sum, ns.
    pub total_ns: f64,
    /// The longest, exact, ns.
    pub max_ns: f64,
    /// The shortest, ns: exact, or where that was not looked for `None`.
    pub min_ns: Option<f64>,
    /// How they are distributed; within 0.8 % each.
    pub histogram: Histogram,
}

impl Times {
    /// Their mean; `None` of nothing.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.total_ns / self.count as f64)
    }

    /// The time that `percent` of them do not exceed; `None` if the distribution is not known.
    pub fn percentile_ns(&self, percent: f64) -> Option<f64> {
        // A bucket's middle may lie above everything in it.
        self.histogram.percentile_ns(percent).map(|ns| ns.min(self.max_ns))
    }

    /// Takes `other` in.
    pub fn add(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.total_ns += other.total_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
        self.min_ns = match (self.min_ns, other.min_ns) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.histogram.add(&other.histogram);
    }
}

/// What was measured of a lock at a site, or of several taken together.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    /// Acquisitions, the tries that succeeded included.
    pub acquisitions: u64,
    /// Acquisitions that had to wait, those included that were given up.
    pub contended: u64,
    /// Trylocks that found the lock held. Not among the acquisitions.
    pub rejects: u64,
    /// Timed acquisitions that were given up. Not among the acquisitions.
    pub timeouts: u64,
    /// How long it was held in all, ns: exact, or estimated from [`Times::mean_ns`] where holds
    /// were sampled; holds under way at the end of the measurement included.
    pub hold_ns: f64,
    /// How far that may be off where holds were sampled.
    pub hold_error: HoldError,
    /// The holds that were timed and are over.
    pub hold: Times,
    /// Holds under way at the end of the measurement.
    pub held: u64,
    /// The waits that are over, those that were given up included.
    pub wait: Times,
    /// What of the waits was spent spinning, ns; the rest was slept.
    pub spin_ns: f64,
    /// Most readers at once that an acquisition here met, itself included.
    pub readers_max: u64,
    /// Acquisitions on another CPU than that of the lock's last one; 0 where bounces were not
    /// counted ([`super::report::Process::bounces`]).
    pub bounces: u64,
    /// Waits that began on another CPU than that of the lock's last acquisition; likewise.
    pub contended_bounces: u64,
}

impl Numbers {
    /// Part of the acquisitions, those included that were given up, that had to wait: 0 to 1.
    pub fn contended_part(&self) -> f64 {
        let begun = self.acquisitions.saturating_add(self.timeouts);
        if begun == 0 { 0.0 } else { self.contended as f64 / begun as f64 }
    }

    /// Takes `other` in.
    pub fn add(&mut self, other: &Self) {
        self.acquisitions = self.acquisitions.saturating_add(other.acquisitions);
        self.contended = self.contended.saturating_add(other.contended);
        self.rejects = self.rejects.saturating_add(other.rejects);
        self.timeouts = self.timeouts.saturating_add(other.timeouts);
        self.hold_ns += other.hold_ns;
        self.hold_error.add(&other.hold_error);
        self.hold.add(&other.hold);
        self.held = self.held.saturating_add(other.held);
        self.wait.add(&other.wait);
        self.spin_ns += other.spin_ns;
        self.readers_max = self.readers_max.max(other.readers_max);
        self.bounces = self.bounces.saturating_add(other.bounces);
        self.contended_bounces = self.contended_bounces.saturating_add(other.contended_bounces);
    }
}
