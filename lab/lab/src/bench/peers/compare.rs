//! Compares the locks of a cell by its runs: each with the best lock that is not ours.

use serde::Serialize;

use super::outcome::Outcome;
use super::sweep::Cell;
use super::table::Peer;
use lockwright_measure::stats::{self, Estimate};

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

/// What a lock is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// The best of the others.
    Best,
    /// The best of those of them whose waiters sleep: what only spins can be released by a plain
    /// store, and is slow where it is preempted.
    BestThatSleeps,
}

/// All runs of a lock in a cell, and what they say.
#[derive(Serialize)]
pub struct Row {
    /// Which lock.
    pub lock: &'static str,
    /// One of lockwright's.
    pub ours: bool,
    /// Its waiters sleep.
    pub sleeps: bool,
    /// Sections a second, in each round divided by those of the lock that is best in all other
    /// rounds: median and bootstrap interval. If a round helped to choose the lock it is compared
    /// with, luck would choose the best of many similar locks. Then no lock could reach its own
    /// figure.
    pub ratio: Estimate,
    /// Likewise, to those of the best that sleeps; none: none of these ran.
    pub ratio_to_sleeping: Option<Estimate>,
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
    /// not count. If only ours ran, the best of these.
    pub best: &'static str,
    /// Likewise, of those whose waiters sleep.
    pub best_that_sleeps: Option<&'static str>,
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

    /// The median of the ratios to the lock it is compared with.
    pub fn to(&self, against: Against) -> Option<f64> {
        match against {
            Against::Best => Some(self.ratio.median),
            Against::BestThatSleeps => self.ratio_to_sleeping.map(|ratio| ratio.median),
        }
    }
}

impl Compared {
    /// The row of a lock, if it ran.
    pub fn row(&self, lock: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.lock == lock)
    }

    /// The row of the lock that others are compared with, if it ran.
    pub fn base(&self, against: Against) -> Option<&Row> {
        self.row(match against {
            Against::Best => self.best,
            Against::BestThatSleeps => self.best_that_sleeps?,
        })
    }

    /// From the runs of each lock, one at least: as many for each, those of one round at one index.
    pub fn new(cell: &Cell, runs: Vec<(&Peer, Runs)>, control: [&str; 2], seed: u64) -> Self {
        let rate = |(_, runs): &(&Peer, Runs)| runs.rounds.iter().map(Outcome::rate).collect();
        let rates: Vec<Vec<f64>> = runs.iter().map(rate).collect();
        let against = |of: &[f64], base: &[f64]| {
            let ratios: Vec<_> = of.iter().zip(base).map(|(of, base)| of / base).collect();
            stats::bootstrap(&ratios, seed)
        };
        let is_other = |peer: &Peer| !peer.is_ours && peer.name != control[1];
        let locks = |counts: &dyn Fn(&Peer) -> bool| {
            (0..runs.len()).filter(|&index| counts(runs[index].0)).collect::<Vec<_>>()
        };
        let mut others = locks(&is_other);
        if others.is_empty() {
            others = locks(&|_| true);
        }
        let sleepers = locks(&|peer| is_other(peer) && peer.sleeps());
        let best = highest(&rates, &others, None).expect("a lock that ran");
        let sleeping = highest(&rates, &sleepers, None);
        let bases = |among: &[usize]| -> Option<Vec<f64>> {
            let base = |round| Some(rates[highest(&rates, among, Some(round))?][round]);
            (0..rates[best].len()).map(base).collect()
        };
        let (base, sleeping_base) = (bases(&others).expect("likewise"), bases(&sleepers));
        let of_control = control.map(|name| runs.iter().position(|(peer, _)| peer.name == name));
        let control = match of_control {
            [Some(first), Some(second)] => Some(against(&rates[second], &rates[first])),
            _ => None,
        };
        let (best_name, sleeping_name) =
            (runs[best].0.name, sleeping.map(|index| runs[index].0.name));
        let row = |(index, (peer, runs)): (usize, (&Peer, Runs))| Row {
            lock: peer.name,
            ours: peer.is_ours,
            sleeps: peer.sleeps(),
            ratio: against(&rates[index], &base),
            ratio_to_sleeping: sleeping_base.as_ref().map(|base| against(&rates[index], base)),
            rounds: runs.rounds,
            counted: runs.counted,
        };
        Self {
            cell: cell.clone(),
            best: best_name,
            best_that_sleeps: sleeping_name,
            rows: runs.into_iter().enumerate().map(row).collect(),
            control,
        }
    }
}

/// Which of some locks has the highest median of its rates, one for each round, except the round
/// `without`. That one counts if there is no other.
fn highest(rates: &[Vec<f64>], among: &[usize], without: Option<usize>) -> Option<usize> {
    let median = |&lock: &usize| {
        let rounds = rates[lock].iter().enumerate();
        let others = rounds.filter(|(round, _)| Some(*round) != without).map(|(_, rate)| *rate);
        let others: Vec<f64> = others.collect();
        stats::median(if others.is_empty() { &rates[lock] } else { &others })
    };
    among.iter().copied().max_by(|a, b| median(a).total_cmp(&median(b)))
}

#[cfg(test)]
pub mod tests {
    use hdrhistogram::Histogram;

    use super::super::super::workers::Times;
    use super::super::outcome::Waits;
    use super::super::table::{NOTHING, spinning};
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
        let spins = Peer { functions: spinning(NOTHING.functions), ..peer("spins", false) };
        let runs = vec![
            (&a, rounds(&[100, 200, 50])),
            (&again, rounds(&[110, 180, 50])),
            (&spins, rounds(&[900, 400, 90])),
            (&ours, rounds(&[900, 100, 45])),
        ];
        Compared::new(&CELL, runs, ["a", "again"], 1)
    }

    #[test]
    fn ratios_are_to_the_best_of_the_others_in_the_same_round() {
        let compared = compared();
        assert_eq!((compared.best, compared.best_that_sleeps), ("spins", Some("a")));
        let ours = compared.row("ours").unwrap();
        assert_eq!(
            (ours.to(Against::Best), ours.to(Against::BestThatSleeps)),
            (Some(0.5), Some(0.9))
        );
        assert!(ours.ratio.low <= 0.5 && ours.ratio.high >= 0.5, "{:?}", ours.ratio);
        assert_eq!(compared.control.unwrap().median, 1.0);
        assert_eq!(compared.base(Against::BestThatSleeps).unwrap().lock, "a");
    }

    /// In the round in which one is lucky, another is the best by the other rounds.
    #[test]
    fn luck_does_not_choose_the_best() {
        let peer = |name, is_ours| Peer { name, is_ours, ..NOTHING };
        let (a, b, ours) = (peer("a", false), peer("b", false), peer("ours", true));
        let runs = vec![
            (&a, rounds(&[100, 100, 200])),
            (&b, rounds(&[101, 101, 101])),
            (&ours, rounds(&[100, 100, 101])),
        ];
        let compared = Compared::new(&CELL, runs, ["none", "of these"], 1);
        let ratio = compared.row("ours").unwrap().ratio;
        assert_eq!((ratio.low, ratio.median, ratio.high), (1.0, 1.0, 1.0));
    }

    #[test]
    fn where_only_ours_ran_they_are_held_against_their_best() {
        let ours = Peer { is_ours: true, ..NOTHING };
        let compared = Compared::new(&CELL, vec![(&ours, rounds(&[5]))], ["a", "again"], 1);
        assert_eq!((compared.best, compared.best_that_sleeps), (NOTHING.name, None));
        assert_eq!(compared.rows[0].to(Against::BestThatSleeps), None);
    }
}
