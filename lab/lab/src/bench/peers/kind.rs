//! The kinds of locks that are measured apart.

use super::choice::Choice;
use super::sweep::{Cell, Sweep};
use super::table::Peer;
use super::{order, rows};

/// A section of the report: mutexes, or reader-writer locks.
pub struct Kind {
    pub name: &'static str,
    pub has_readers: bool,
    pub rows: &'static [Peer],
    pub control: [&'static str; 2],
    /// By default, in full, and as a smoke run.
    pub sweeps: [fn() -> Sweep; 3],
}

pub static KINDS: [Kind; 2] = [
    Kind {
        name: "mutexes",
        has_readers: false,
        rows: rows::MUTEXES,
        control: rows::CONTROL,
        sweeps: [Sweep::mutexes, Sweep::all_of_mutexes, || Sweep::smoke(vec![0])],
    },
    Kind {
        name: "rwlocks",
        has_readers: true,
        rows: rows::RWLOCKS,
        control: rows::RW_CONTROL,
        sweeps: [Sweep::rwlocks, Sweep::all_of_rwlocks, || Sweep::smoke(vec![50])],
    },
];

impl Kind {
    pub fn sweep(&self, choice: &Choice) -> Sweep {
        let [quick, full, smoke] = self.sweeps;
        let sweep = match choice {
            Choice { is_smoke: true, .. } => smoke(),
            Choice { is_full: true, .. } => full(),
            _ => quick(),
        };
        choice.axes.over(sweep, self.has_readers)
    }

    /// The cells that are wanted, in the order of the sweep, and of how many.
    pub fn cells(&self, choice: &Choice) -> (Vec<Cell>, usize) {
        let all = self.sweep(choice).cells();
        let number = all.len();
        (order::some(all, choice.cells, choice.seed), number)
    }

    /// All locks of this kind that are wanted: of this process, and then of `libraries`.
    pub fn peers(&self, choice: &Choice, libraries: &[Peer]) -> Vec<Peer> {
        let others = libraries.iter().filter(|peer| peer.has_readers() == self.has_readers);
        self.rows.iter().chain(others).filter(|peer| choice.wants(peer.name)).copied().collect()
    }
}
