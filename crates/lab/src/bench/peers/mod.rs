//! `mutexes` and `rwlocks`: the locks of this family beside all others that could be had, in one
//! process, over a sweep of what programs do with locks.
//!
//! A lock is a row of functions ([`table`]); rows come from this process ([`rows`]) and from shared
//! objects of C and C++ locks. A cell of the sweep ([`sweep`]) is run with each lock ([`work`]), in
//! random order ([`order`]), and each lock is held against the best that is not ours ([`compare`]).

mod compare;
mod hog;
mod library;
mod order;
mod ours;
mod outcome;
mod place;
mod pthread;
mod rows;
mod rust;
mod show;
mod spin;
mod sweep;
mod table;
mod usage;
mod work;

use std::thread;

use super::Options;
use super::fault::Fault;
use super::report::Section;
use crate::parts::Parts;
use compare::Compared;
pub use library::{LIBRARIES_COMMAND, PACKAGES};
use order::Remaining;
use outcome::Outcome;
use spin::Calibration;
pub use sweep::{Axes, Sweep};
use table::{NOTHING, Peer};

/// What is measured, and with which locks.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Everything: hours.
    pub is_full: bool,
    /// As little as shows that everything runs.
    pub is_smoke: bool,
    /// Dimensions whose values the user chose.
    pub axes: Axes,
    /// Of the order of runs; the same seed gives the same.
    pub seed: u64,
    /// Only locks whose name contains one of these; none: all.
    pub locks: Vec<String>,
    /// Where the locks of C and C++ are.
    pub libraries: Parts,
}

impl Default for Choice {
    fn default() -> Self {
        Self {
            is_full: false,
            is_smoke: false,
            axes: Axes::default(),
            seed: 1,
            locks: Vec::new(),
            libraries: Parts::new(None, LIBRARIES_COMMAND),
        }
    }
}

impl Choice {
    fn wants(&self, lock: &str) -> bool {
        self.locks.is_empty() || self.locks.iter().any(|text| lock.contains(text.as_str()))
    }
}

/// A section of the report: mutexes, or reader-writer locks.
struct Kind {
    name: &'static str,
    has_readers: bool,
    rows: &'static [Peer],
    control: [&'static str; 2],
    /// By default, in full, and as a smoke run.
    sweeps: [fn() -> Sweep; 3],
}

static KINDS: [Kind; 2] = [
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
    fn sweep(&self, choice: &Choice) -> Sweep {
        let [quick, full, smoke] = self.sweeps;
        let sweep = match choice {
            Choice { is_smoke: true, .. } => smoke(),
            Choice { is_full: true, .. } => full(),
            _ => quick(),
        };
        choice.axes.over(sweep, self.has_readers)
    }

    /// All locks of this kind that are wanted: of this process, and then of `libraries`.
    fn peers(&self, choice: &Choice, libraries: &[Peer]) -> Vec<Peer> {
        let others = libraries.iter().filter(|peer| peer.has_readers() == self.has_readers);
        self.rows.iter().chain(others).filter(|peer| choice.wants(peer.name)).copied().collect()
    }
}

/// All that was measured of a kind.
struct Measured {
    kind: &'static Kind,
    calibration: Calibration,
    /// Nanoseconds of a pass of the loop with a lock that is none.
    pass_ns: f64,
    /// Locks that were left out of some cells, as they spin in a queue.
    left_out: Vec<&'static str>,
    compared: Vec<Compared>,
}

/// What came of it.
#[derive(Default)]
pub(super) struct Swept {
    pub sections: Vec<Section>,
    /// Libraries that are not there, and why.
    pub missing: Vec<String>,
}

/// Both kinds, as far as they are wanted.
///
/// # Errors
/// If figures are not to be believed.
pub(super) fn measure(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Swept, Fault> {
    let mut swept = Swept::default();
    let wanted: Vec<_> = KINDS.iter().filter(|kind| options.wants(kind.name)).collect();
    if wanted.is_empty() {
        return Ok(swept);
    }
    let libraries = library::load(&options.peers.libraries);
    for kind in wanted {
        let peers = kind.peers(&options.peers, &libraries.peers);
        if !peers.is_empty() {
            let measured = measure_kind(kind, &peers, options, progress)?;
            swept.sections.extend(show::sections(&measured, options));
        }
    }
    swept.missing = libraries.missing;
    Ok(swept)
}

fn measure_kind(
    kind: &'static Kind,
    peers: &[Peer],
    options: &Options,
    progress: order::Progress<'_>,
) -> Result<Measured, Fault> {
    let calibration = Calibration::measure();
    // A fiftieth of what the over-commit's arms take, of which there are as many fewer.
    let interval = options.interval / 50;
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let cells = kind.sweep(&options.peers).cells();
    let enters = |cell: &sweep::Cell, peer: &Peer| {
        !(peer.functions.spins_in_queue && cell.is_over_committed(cpus))
    };
    let of_cell = |cell| (0..peers.len()).filter(|&lock| enters(cell, &peers[lock])).collect();
    let entrants: Vec<Vec<usize>> = cells.iter().map(of_cell).collect();
    let runs = entrants.iter().map(Vec::len).sum::<usize>() * options.rounds;
    let mut remaining = Remaining::of(runs);
    let mut outcomes: Vec<Vec<Vec<Outcome>>> =
        cells.iter().map(|_| peers.iter().map(|_| Vec::new()).collect()).collect();
    order::at_random(&entrants, options.rounds, options.peers.seed, |cell, lock| {
        progress(&format!("{}, {}: {}", kind.name, remaining.tell(interval), cells[cell]));
        let outcome = work::run(&peers[lock], &cells[cell], &calibration, interval)?;
        outcomes[cell][lock].push(outcome);
        remaining.step();
        Ok(())
    })?;
    let compared = cells.iter().zip(outcomes).filter_map(|(cell, outcomes)| {
        let runs: Vec<_> =
            peers.iter().zip(outcomes).filter(|(_, rounds)| !rounds.is_empty()).collect();
        let seed = options.peers.seed;
        (!runs.is_empty()).then(|| Compared::new(cell, runs, kind.control, seed))
    });
    let is_left_out = |peer: &&Peer| {
        peer.functions.spins_in_queue && cells.iter().any(|cell| !enters(cell, peer))
    };
    Ok(Measured {
        kind,
        calibration,
        pass_ns: pass_ns(&calibration, options)?,
        left_out: peers.iter().filter(is_left_out).map(|peer| peer.name).collect(),
        compared: compared.collect(),
    })
}

/// Nanoseconds of a pass of the loop by itself, with both calls.
fn pass_ns(calibration: &Calibration, options: &Options) -> Result<f64, Fault> {
    let cell = sweep::Cell { threads: 1, section_ns: 0, gap: 0, locks: 1, reads: 0, hog: false };
    let passes = (0..options.rounds).map(|_| {
        let outcome = work::run(&NOTHING, &cell, calibration, options.interval / 50)?;
        Ok(1e9 / outcome.rate())
    });
    Ok(crate::stats::median(&passes.collect::<Result<Vec<_>, Fault>>()?))
}
