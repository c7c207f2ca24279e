//! The metrics that two sides are compared by.

use std::fmt;

use crate::lockmeter::model::{Lock, MeterReport, Numbers, Site};

/// A number that is compared. In each run it is a quotient of two sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// Waits in a run, ns.
    Wait,
    /// Mean hold, ns.
    Hold,
    /// Acquisitions a second.
    Acquisitions,
    /// Part of the acquisitions that had to wait, 0 to 1.
    Contended,
    /// Part of the time that it was held, 0 to 1.
    Utilisation,
}

/// All metrics, with the names that expressions have for them, in the order in which they are
/// shown.
pub const METRICS: &[(Metric, &str)] = &[
    (Metric::Wait, "wait"),
    (Metric::Hold, "hold"),
    (Metric::Acquisitions, "acquisitions"),
    (Metric::Contended, "contended"),
    (Metric::Utilisation, "utilisation"),
];

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = METRICS.iter().find(|(metric, _)| metric == self).map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

/// What one run had of a lock or site.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    wait_ns: f64,
    timed_ns: f64,
    timed: f64,
    acquisitions: f64,
    contended: f64,
    begun: f64,
    held_ns: f64,
    /// What `held_ns` is a part of.
    measured_ns: f64,
    /// How long the run took.
    run_ns: f64,
}

impl Sample {
    /// The values of something that the run did not have.
    pub fn absent(run: &MeterReport) -> Self {
        Self { run_ns: run.elapsed_ns as f64, ..Self::default() }
    }

    /// The values of a lock.
    pub fn lock(run: &MeterReport, lock: &Lock) -> Self {
        Self {
            held_ns: lock.utilisation() * lock.measured_ns as f64,
            measured_ns: lock.measured_ns as f64,
            ..Self::of(run, &lock.total)
        }
    }

    /// The values of a site of a lock.
    pub fn site(run: &MeterReport, lock: &Lock, site: &Site) -> Self {
        Self { measured_ns: lock.measured_ns as f64, ..Self::of(run, &site.numbers) }
    }

    fn of(run: &MeterReport, numbers: &Numbers) -> Self {
        Self {
            wait_ns: numbers.wait.total_ns,
            timed_ns: numbers.hold.total_ns,
            timed: numbers.hold.count as f64,
            acquisitions: numbers.acquisitions as f64,
            contended: numbers.contended as f64,
            begun: numbers.acquisitions.saturating_add(numbers.timeouts) as f64,
            held_ns: numbers.hold_ns,
            ..Self::absent(run)
        }
    }

    /// Takes in what else the run had of it.
    pub fn add(&mut self, other: &Self) {
        self.wait_ns += other.wait_ns;
        self.timed_ns += other.timed_ns;
        self.timed += other.timed;
        self.acquisitions += other.acquisitions;
        self.contended += other.contended;
        self.begun += other.begun;
        self.held_ns += other.held_ns;
        self.measured_ns = self.measured_ns.max(other.measured_ns);
    }

    /// Dividend and divisor.
    fn parts(&self, metric: Metric) -> (f64, f64) {
        match metric {
            Metric::Wait => (self.wait_ns, 1.0),
            Metric::Hold => (self.timed_ns, self.timed),
            Metric::Acquisitions => (self.acquisitions, self.run_ns / 1e9),
            Metric::Contended => (self.contended, self.begun),
            Metric::Utilisation if self.measured_ns == 0.0 => (0.0, self.run_ns),
            Metric::Utilisation => (self.held_ns, self.measured_ns),
        }
    }
}

/// The metric's value in each run that has one.
pub fn values(metric: Metric, samples: &[Sample]) -> Vec<f64> {
    let parts = samples.iter().map(|sample| sample.parts(metric));
    parts
        .filter(|(_, divisor)| *divisor > 0.0)
        .map(|(dividend, divisor)| dividend / divisor)
        .collect()
}

/// How many events the metric counts in all runs, if it is a count that chance decides, or as many as vary alike: a part of
/// nearly all varies little. Acquisitions are none: a program may well take a lock equally often each time.
pub fn counted(metric: Metric, samples: &[Sample]) -> Option<f64> {
    let sum = |of: fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>();
    let (contended, begun) = (sum(|sample| sample.contended), sum(|sample| sample.begun));
    (metric == Metric::Contended).then(|| contended * begun / (begun - contended).max(0.0))
}
