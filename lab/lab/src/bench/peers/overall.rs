//! Each lock's figures over all cells: fast, fair, thrifty, or one at the cost of another.

use serde::Serialize;

use super::compare::{AIM, Against, Compared, Row};
use super::outcome::Outcome;
use super::sweep::Cell;
use lockwright_measure::stats;

/// A lock's ratios to the best, over all cells in which it ran.
#[derive(Serialize)]
pub struct Summary {
    /// In how many it ran.
    pub cells: usize,
    /// In how many it does [`AIM`] of the best.
    pub reached: usize,
    /// Geometric mean of the ratios.
    pub mean: f64,
    /// The least of them.
    pub worst: f64,
    /// In which cell that is.
    pub worst_cell: String,
}

/// A lock over all cells in which it ran.
#[derive(Serialize)]
pub struct Overall {
    /// Which lock.
    pub lock: &'static str,
    /// One of lockwright's.
    pub ours: bool,
    /// Against the best of the others.
    pub best: Summary,
    /// Against the best of them whose waiters sleep; none: none of these ran.
    pub best_that_sleeps: Option<Summary>,
    /// Sections of the thread with the fewest over those of the one with the most: the median of the
    /// cells with several threads.
    pub min_over_max: Option<f64>,
    /// Geometric mean of the p99.9 of waits, in nanoseconds, of the cells with several threads.
    pub wait_p99_9: Option<f64>,
    /// Geometric mean of CPU time for each section, to the baseline's in the same cell.
    pub cpu: Option<f64>,
    /// Throughput with the most threads to its own with as many threads as CPUs: the least of all
    /// pairs of cells that differ in this alone.
    pub kept: Option<f64>,
}

impl Overall {
    /// The summary compared with `against`.
    pub fn against(&self, against: Against) -> Option<&Summary> {
        match against {
            Against::Best => Some(&self.best),
            Against::BestThatSleeps => self.best_that_sleeps.as_ref(),
        }
    }
}

/// Each lock that ran, in the order of the table. CPU time is compared with the lock `baseline`.
pub fn overall(all: &[Compared], baseline: &str, cpus: usize) -> Vec<Overall> {
    let mut locks: Vec<&Row> = Vec::new();
    for row in all.iter().flat_map(|compared| &compared.rows) {
        if !locks.iter().any(|known| known.lock == row.lock) {
            locks.push(row);
        }
    }
    let of = |row: &&Row| {
        let ran = all.iter().filter_map(|compared| Some((compared, compared.row(row.lock)?)));
        of_lock(row, &ran.collect::<Vec<_>>(), baseline, cpus)
    };
    locks.iter().map(of).collect()
}

fn of_lock(lock: &Row, ran: &[(&Compared, &Row)], baseline: &str, cpus: usize) -> Overall {
    let shared: Vec<_> =
        ran.iter().filter(|(of, _)| of.cell.threads > 1).map(|(_, row)| *row).collect();
    let fair: Vec<_> = shared.iter().map(|row| row.median(Outcome::min_over_max)).collect();
    let waits = shared.iter().map(|row| row.median(|one| one.waits.p99_9.max(1) as f64));
    let cpu = ran.iter().filter_map(|(of, row)| {
        Some(row.median(Outcome::cpu_ns) / of.row(baseline)?.median(Outcome::cpu_ns))
    });
    Overall {
        lock: lock.lock,
        ours: lock.ours,
        best: summary(ran, Against::Best).expect("it ran"),
        best_that_sleeps: summary(ran, Against::BestThatSleeps),
        min_over_max: (!fair.is_empty()).then(|| stats::median(&fair)),
        wait_p99_9: geometric_mean(waits),
        cpu: geometric_mean(cpu),
        kept: kept(ran, cpus),
    }
}

/// None: no lock ran that it could be compared with.
fn summary(ran: &[(&Compared, &Row)], against: Against) -> Option<Summary> {
    let ratios: Vec<_> =
        ran.iter().filter_map(|(of, row)| Some((row.to(against)?, &of.cell))).collect();
    let (worst, worst_cell) = ratios.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Summary {
        cells: ratios.len(),
        reached: ratios.iter().filter(|(ratio, _)| *ratio >= AIM).count(),
        mean: geometric_mean(ratios.iter().map(|(ratio, _)| *ratio))?,
        worst: *worst,
        worst_cell: worst_cell.to_string(),
    })
}

/// See [`Overall::kept`].
fn kept(ran: &[(&Compared, &Row)], cpus: usize) -> Option<f64> {
    let most = ran.iter().map(|(of, _)| of.cell.threads).max().filter(|most| *most > cpus)?;
    let rate = |row: &Row| row.median(Outcome::rate);
    let pairs = ran.iter().filter(|(of, _)| of.cell.threads == most).filter_map(|(of, row)| {
        let fitting = Cell { threads: cpus, ..of.cell.clone() };
        let (_, own) = ran.iter().find(|(of, _)| of.cell == fitting)?;
        Some(rate(row) / rate(own))
    });
    pairs.reduce(f64::min)
}

/// The geometric mean of positive values; none if there are no values.
fn geometric_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let logarithms: Vec<_> = values.map(f64::ln).collect();
    let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    (!logarithms.is_empty()).then(|| mean.exp())
}

#[cfg(test)]
mod tests {
    use super::super::compare::{Runs, tests::rounds};
    use super::super::table::{NOTHING, Peer};
    use super::*;

    /// A cell in which two locks do so many sections.
    fn cell(threads: usize, other: u64, ours: u64) -> Compared {
        let cell = Cell { threads, section_ns: 0, gap: 0, locks: 1, reads: 0, hog: false };
        let peer = |name, is_ours| Peer { name, is_ours, ..NOTHING };
        let (base, lock) = (peer("base", false), peer("lock", true));
        let runs: Vec<(&Peer, Runs)> = vec![(&base, rounds(&[other])), (&lock, rounds(&[ours]))];
        Compared::new(&cell, runs, ["base", "again"], 1)
    }

    #[test]
    fn a_lock_is_told_over_all_its_cells() {
        let all = [cell(1, 100, 100), cell(2, 200, 50), cell(32, 100, 100)];
        let [base, lock] = &overall(&all, "base", 2)[..] else { panic!("two locks") };
        assert_eq!((lock.lock, lock.ours), ("lock", true));
        for against in [Against::Best, Against::BestThatSleeps] {
            let of = lock.against(against).unwrap();
            assert_eq!((of.cells, of.reached, of.worst), (3, 2, 0.25));
            assert!((of.mean - 0.25f64.cbrt()).abs() < 1e-9, "{}", of.mean);
            assert_eq!(of.worst_cell, all[1].cell.to_string());
        }
        assert_eq!((lock.kept, base.kept), (Some(2.0), Some(0.5)));
        // As much CPU time in all for other numbers of sections.
        assert!((lock.cpu.unwrap() - 4f64.cbrt()).abs() < 1e-9, "{:?}", lock.cpu);
        assert_eq!((lock.min_over_max, base.cpu), (Some(1.0), Some(1.0)));
    }

    #[test]
    fn what_one_thread_does_says_nothing_of_fairness() {
        let all = [cell(1, 100, 100)];
        let lock = &overall(&all, "base", 2)[1];
        assert!(lock.min_over_max.is_none() && lock.wait_p99_9.is_none() && lock.kept.is_none());
        assert!(overall(&all, "none", 2)[1].cpu.is_none());
    }
}
