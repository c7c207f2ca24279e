//! Which part of a measurement the reader wants to see, and in what order.

use std::cmp::Ordering;

use lockwright_analysis::lockmeter::model::{Lock, MeterReport, Numbers, Site, by_wait};

/// The part of a measurement to show.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Also list the processes, if there are several.
    pub processes: bool,
    /// Locks to show; 0: all.
    pub top: usize,
    /// The order.
    pub sort: Sort,
    /// Show the locks of a class one by one, too.
    pub instances: bool,
    /// Least contention of what is shown, percent of the acquisitions.
    pub min_contended: f64,
    /// Least utilisation of what is shown, percent of the time.
    pub min_utilisation: f64,
    /// As another tool would show it.
    pub compat: Option<Compat>,
}

/// A tool whose tables we can print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Compat {
    /// The kernel's lockmeter.
    Lockmeter,
    /// The kernel's /proc/lock_stat. A run that is measured counts bounces and the shortest holds for
    /// it.
    #[cfg_attr(feature = "clap", value(name = "lock_stat"))]
    LockStat,
}

impl Default for View {
    fn default() -> Self {
        Self {
            processes: false,
            top: 10,
            sort: Sort::Wait,
            instances: false,
            min_contended: 0.0,
            min_utilisation: 0.0,
            compat: None,
        }
    }
}

/// The order of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Sort {
    /// By total wait.
    Wait,
    /// By total hold.
    Hold,
    /// By acquisitions.
    Acquisitions,
    /// By contended acquisitions.
    Contended,
}

/// The locks of a view.
#[derive(Debug)]
pub struct Selection<'r> {
    /// The locks to show, in order.
    pub locks: Vec<&'r Lock>,
    /// How many more there are that the thresholds let through.
    pub beyond_top: usize,
    /// How many the thresholds keep out.
    pub below_thresholds: usize,
}

impl View {
    /// The locks to show.
    pub fn locks<'r>(&self, report: &'r MeterReport) -> Selection<'r> {
        let is_over = |lock: &&Lock| self.is_over(&lock.total, lock.utilisation());
        let mut locks: Vec<&Lock> = report.locks.iter().filter(is_over).collect();
        locks.sort_by(|a, b| self.order(&a.total, &b.total));
        let below_thresholds = report.locks.len() - locks.len();
        let over = locks.len();
        if self.top > 0 {
            locks.truncate(self.top);
        }
        Selection { beyond_top: over - locks.len(), locks, below_thresholds }
    }

    /// The sites of a lock to show.
    pub fn sites<'r>(&self, lock: &'r Lock) -> Vec<&'r Site> {
        let is_over = |site: &&Site| self.is_over(&site.numbers, lock.utilisation_by(site));
        let mut sites: Vec<&Site> = lock.sites.iter().filter(is_over).collect();
        sites.sort_by(|a, b| self.order(&a.numbers, &b.numbers));
        sites
    }

    /// Compares two locks in this order.
    pub fn order(&self, a: &Numbers, b: &Numbers) -> Ordering {
        let first = match self.sort {
            Sort::Wait => Ordering::Equal,
            Sort::Hold => b.hold_ns.total_cmp(&a.hold_ns),
            Sort::Acquisitions => b.acquisitions.cmp(&a.acquisitions),
            Sort::Contended => b.contended.cmp(&a.contended),
        };
        first.then_with(|| by_wait(a, b))
    }

    fn is_over(&self, numbers: &Numbers, utilisation: f64) -> bool {
        numbers.contended_part() * 100.0 >= self.min_contended
            && utilisation * 100.0 >= self.min_utilisation
    }
}
