//! `mutexes` and `rwlocks`: the locks of this family compared with all others that we could get, in
//! one process, over a sweep of what programs do with locks.
//!
//! A lock is a row of functions ([`table`]); rows come from this process ([`rows`]) and from shared
//! objects of C and C++ locks ([`library`]). A cell of the sweep ([`sweep`]) is run with each lock
//! ([`work`]), in random order ([`order`]). Then each lock is compared with the best that is not
//! ours ([`compare`]).

mod compare;
mod frontier;
mod futex;
mod hog;
mod library;
mod measure;
mod order;
mod ours;
mod outcome;
mod overall;
mod place;
mod plot;
mod pthread;
mod rows;
mod rust;
mod show;
mod spin;
mod sweep;
mod table;
mod usage;
mod work;

use super::Options;
use super::fault::Fault;
use super::report::{Plot, Section};
use crate::parts::Parts;
pub use library::{LIBRARIES_COMMAND, PACKAGES};
use sweep::Cell;
pub use sweep::{Axes, Sweep};
use table::Peer;

/// What is measured, and with which locks.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Everything: hours.
    pub is_full: bool,
    /// As little as shows that everything runs.
    pub is_smoke: bool,
    /// Dimensions whose values the user chose.
    pub axes: Axes,
    /// Only so many cells, chosen at random; none: all.
    pub cells: Option<usize>,
    /// The seed of the order of runs and the choice of cells; the same seed gives the same ones.
    pub seed: u64,
    /// Only locks whose name contains one of these; none: all.
    pub locks: Vec<String>,
    /// Where the locks of C and C++ are.
    pub libraries: Parts,
    /// With plots.
    pub plots: bool,
}

impl Default for Choice {
    fn default() -> Self {
        Self {
            is_full: false,
            is_smoke: false,
            axes: Axes::default(),
            cells: None,
            seed: 1,
            locks: Vec::new(),
            libraries: Parts::new(None, LIBRARIES_COMMAND),
            plots: false,
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

    /// The cells that are wanted, in the order of the sweep, and of how many.
    fn cells(&self, choice: &Choice) -> (Vec<Cell>, usize) {
        let all = self.sweep(choice).cells();
        let number = all.len();
        (order::some(all, choice.cells, choice.seed), number)
    }

    /// All locks of this kind that are wanted: of this process, and then of `libraries`.
    fn peers(&self, choice: &Choice, libraries: &[Peer]) -> Vec<Peer> {
        let others = libraries.iter().filter(|peer| peer.has_readers() == self.has_readers);
        self.rows.iter().chain(others).filter(|peer| choice.wants(peer.name)).copied().collect()
    }
}

/// What came of it.
#[derive(Default)]
pub(super) struct Swept {
    pub sections: Vec<Section>,
    /// Libraries that are not there, and why.
    pub missing: Vec<String>,
    /// If they are wanted.
    pub plots: Vec<Plot>,
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
            let measured = measure::kind(kind, &peers, options, progress)?;
            swept.sections.extend(show::sections(&measured, options));
            if options.peers.plots {
                swept.plots.extend(plot::plots(&measured));
            }
        }
    }
    swept.missing = libraries.missing;
    Ok(swept)
}
