//! What the runs of a cell say of its locks: each against the best that is not ours.

use serde::Serialize;

use super::outcome::Outcome;
use super::sweep::Cell;
use super::table::Peer;
use crate::stats::{self, Estimate};

/// A lock of ours should do at least so much of what the best of the others does.
pub const AIM: f64 = 0.97;

/// The runs of a lock in a cell.
#[derive(Default)]
pub struct Runs {
    /// In the order they were made.
    pub rounds: Vec<Outcome>,
    /// A further one, in which calls of the kernel's futex were counted.
    pub counted: Option<Outcome>,
}

/// All runs of a lock in a cell, and what they say.
#[derive(Serialize)]
pub struct Row {
    /// Which lock.
    pub lock: &'static str,
    /// One of lockwright's.
    pub ours: bool,
    /// Sections a second, to those of the best in the same round: median and bootstrap interval.
    pub ratio: Estimate,
    /// In the order they were made.
    pub rounds: Vec<Outcome>,
    /// A further run, in which calls of the kernel's futex were counted.
    pub counted: Option<Outcome>,
}

/// All locks of a cell.
#[derive(Serialize)]
pub struct Compared {
    /// What they did.
    pub cell: Cell,
    /// The lock with the highest median of those that are not ours; the control's second name does
    /// not count.
    pub best: &'static str,
    /// By lock.
    pub rows: Vec<Row>,
    /// The control's second name against its first.
    pub control: Option<Estimate>,
}

impl Row {
    /// The median of a figure over the rounds.
    pub fn median(&self, figure: impl Fn(&Outcome) -> f64) -> f64 {
        stats::median(&self.rounds.iter().map(figure).collect::<Vec<_>>())
    }
}

impl Compared {
    /// The row of a lock, if it ran.
    pub fn row(&self, lock: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.lock == lock)
    }

    /// From the runs of each lock: as many for each, those of one round at one index.
    pub fn new(cell: &Cell, runs: Vec<(&Peer, Runs)>, control: [&str; 2], seed: u64) -> Self {
        let rates: Vec<Vec<f64>> =
            runs.iter().map(|(_, runs)| runs.rounds.iter().map(Outcome::rate).collect()).collect();
        let best = best(&runs, &rates, control[1]);
        let against = |of: &[f64], base: &[f64]| {
            let ratios: Vec<_> = of.iter().zip(base).map(|(of, base)| of / base).collect();
            stats::bootstrap(&ratios, seed)
        };
        let named = |name: &str| runs.iter().position(|(peer, _)| peer.name == name);
        let control = control.map(named);
        let control = match control {
            [Some(first), Some(second)] => Some(against(&rates[second], &rates[first])),
            _ => None,
        };
        let ratios: Vec<_> = rates.iter().map(|of| against(of, &rates[best])).collect();
        let best = runs[best].0.name;
        let rows = runs.into_iter().zip(ratios);
        let row = |((peer, runs), ratio): ((&Peer, Runs), _)| Row {
            lock: peer.name,
            ours: peer.is_ours,
            ratio,
            rounds: runs.rounds,
            counted: runs.counted,
        };
        Self { cell: cell.clone(), best, rows: rows.map(row).collect(), control }
    }
}

/// The index of the best of the others, `again` left out; if there is none, of ours.
fn best(runs: &[(&Peer, Runs)], rates: &[Vec<f64>], again: &str) -> usize {
    let standing = |&index: &usize| {
        let Peer { name, is_ours, .. } = runs[index].0;
        (!is_ours && *name != again, stats::median(&rates[index]))
    };
    let order = |a: &usize, b: &usize| {
        let (a, b) = (standing(a), standing(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    (0..runs.len()).max_by(order).expect("a lock to compare with")
}

/// How a lock of ours stands over a sweep.
#[derive(Serialize)]
pub struct Standing {
    /// Which lock.
    pub lock: &'static str,
    /// Cells in which it reaches [`AIM`].
    pub reached: usize,
    /// All in which it ran.
    pub cells: usize,
    /// The least of its ratios.
    pub worst: f64,
    /// In which cell that is.
    pub worst_cell: String,
}

/// Those of all locks of ours, in the order of the table.
pub fn standings(all: &[Compared]) -> Vec<Standing> {
    let mut standings: Vec<Standing> = Vec::new();
    for compared in all {
        for row in compared.rows.iter().filter(|row| row.ours) {
            let known = standings.iter().position(|standing| standing.lock == row.lock);
            let known = known.unwrap_or_else(|| {
                standings.push(Standing::none(row.lock));
                standings.len() - 1
            });
            standings[known].add(row.ratio.median, &compared.cell);
        }
    }
    standings
}

impl Standing {
    fn none(lock: &'static str) -> Self {
        Self { lock, reached: 0, cells: 0, worst: f64::INFINITY, worst_cell: String::new() }
    }

    fn add(&mut self, ratio: f64, cell: &Cell) {
        self.cells += 1;
        self.reached += usize::from(ratio >= AIM);
        if ratio < self.worst {
            (self.worst, self.worst_cell) = (ratio, cell.to_string());
        }
    }
}

#[cfg(test)]
pub mod tests {
    use hdrhistogram::Histogram;

    use super::super::super::workers::Times;
    use super::super::outcome::Waits;
    use super::super::table::NOTHING;
    use super::*;

    const CELL: Cell = Cell { threads: 1, section_ns: 0, gap: 0, locks: 1, reads: 0, hog: false };

    /// Rounds of one second of one thread, which does so many sections.
    pub fn rounds(operations: &[u64]) -> Runs {
        let one = |&operations: &u64| Outcome {
            times: Times {
                elapsed_ns: 1_000_000_000,
                longest_ns: 1,
                cpu_ns: 1,
                cpus: 1,
                workers: 1,
            },
            operations: vec![operations],
            switches: 0,
            futex_calls: None,
            waits: Waits::of(&Histogram::new(2).unwrap()),
        };
        Runs { rounds: operations.iter().map(one).collect(), counted: None }
    }

    fn compared() -> Compared {
        let peer = |name, is_ours| Peer { name, is_ours, ..NOTHING };
        let (a, again, ours) = (peer("a", false), peer("again", false), peer("ours", true));
        let runs = vec![
            (&a, rounds(&[100, 200, 50])),
            (&again, rounds(&[110, 180, 50])),
            (&ours, rounds(&[900, 100, 45])),
        ];
        Compared::new(&CELL, runs, ["a", "again"], 1)
    }

    #[test]
    fn ratios_are_to_the_best_of_the_others_in_the_same_round() {
        let compared = compared();
        assert_eq!(compared.best, "a");
        let ours = &compared.rows[2].ratio;
        assert_eq!(ours.median, 0.9);
        assert!(ours.low <= 0.9 && ours.high >= 0.9, "{ours:?}");
        assert_eq!(compared.control.unwrap().median, 1.0);
    }

    #[test]
    fn the_worst_cell_is_told() {
        let standings = standings(&[compared(), compared()]);
        let [ours] = standings.as_slice() else { panic!("one lock of ours") };
        assert_eq!((ours.lock, ours.reached, ours.cells, ours.worst), ("ours", 0, 2, 0.9));
        assert_eq!(ours.worst_cell, CELL.to_string());
    }
}
