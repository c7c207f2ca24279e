//! All runs of a sweep.

use std::thread;
use std::time::Duration;

use super::super::Options;
use super::super::fault::Fault;
use super::compare::{Compared, Runs};
use super::futex::Tracepoint;
use super::kind::Kind;
use super::order::{self, Progress, Remaining};
use super::spin::Calibration;
use super::sweep::Cell;
use super::table::{NOTHING, Peer, Waiting};
use super::work::{self, How};

/// All that was measured of a kind.
pub struct Measured {
    /// Its kind.
    pub kind: &'static Kind,
    /// CPUs that the threads could run on.
    pub cpus: usize,
    /// Cells of the sweep, of which [`Self::compared`] may have but some.
    pub all_cells: usize,
    /// How long a run took.
    pub interval: Duration,
    /// What the machine does in a time.
    pub calibration: Calibration,
    /// Nanoseconds of a pass of the loop with a lock that is none.
    pub pass_ns: f64,
    /// Locks that were left out of some cells, as they spin in a queue.
    pub left_out: Vec<&'static str>,
    /// Why calls of the kernel's futex are not counted.
    pub not_counted: Option<String>,
    /// By cell.
    pub compared: Vec<Compared>,
}

/// Runs every cell with every lock that enters it.
///
/// # Errors
/// If figures are not to be believed.
pub fn kind(
    kind: &'static Kind,
    peers: &[Peer],
    options: &Options,
    progress: Progress<'_>,
) -> Result<Measured, Fault> {
    // A fiftieth of what the over-commit's arms take, of which there are as many fewer.
    let interval = options.interval / 50;
    let how = How { calibration: Calibration::measure(), interval, futex: None };
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let (cells, all_cells) = kind.cells(&options.peers);
    let enters = |cell: &Cell, peer: &Peer| {
        peer.functions.waiting != Waiting::SPINS_IN_QUEUE || !cell.is_over_committed(cpus)
    };
    let of_cell = |cell| (0..peers.len()).filter(|&lock| enters(cell, &peers[lock])).collect();
    let entrants: Vec<Vec<usize>> = cells.iter().map(of_cell).collect();
    let is_left_out = |peer: &&Peer| !cells.iter().all(|cell| enters(cell, peer));

    let mut runs: Vec<Vec<Runs>> =
        cells.iter().map(|_| peers.iter().map(|_| Runs::default()).collect()).collect();
    let (futex, not_counted) = match Tracepoint::find() {
        Ok(found) => (Some(found), None),
        Err(why) => (None, Some(why)),
    };
    let rounds = options.rounds + usize::from(futex.is_some());
    let mut remaining = Remaining::of(entrants.iter().map(Vec::len).sum::<usize>() * rounds);
    let seed = options.peers.seed;
    let mut one = |cell: usize, lock: usize, how: &How| {
        progress(&format!("{}, {}: {}", kind.name, remaining.tell(interval), cells[cell]));
        let outcome = work::run(&peers[lock], &cells[cell], how)?;
        remaining.step();
        Ok(outcome)
    };
    order::at_random(&entrants, options.rounds, seed, |cell, lock| {
        runs[cell][lock].rounds.push(one(cell, lock, &how)?);
        Ok(())
    })?;
    if futex.is_some() {
        order::at_random(&entrants, 1, seed, |cell, lock| {
            runs[cell][lock].counted = Some(one(cell, lock, &How { futex, ..how })?);
            Ok(())
        })?;
    }
    let compared = cells.iter().zip(runs).filter_map(|(cell, runs)| {
        let ran = peers.iter().zip(runs).filter(|(_, runs)| !runs.rounds.is_empty());
        let runs: Vec<_> = ran.collect();
        (!runs.is_empty()).then(|| Compared::new(cell, runs, kind.control, seed))
    });
    Ok(Measured {
        kind,
        cpus,
        all_cells,
        interval,
        calibration: how.calibration,
        pass_ns: pass_ns(&how, options.rounds)?,
        left_out: peers.iter().filter(is_left_out).map(|peer| peer.name).collect(),
        not_counted,
        compared: compared.collect(),
    })
}

/// Nanoseconds of a pass of the loop by itself, with both calls.
fn pass_ns(how: &How, rounds: usize) -> Result<f64, Fault> {
    let cell = Cell { threads: 1, section_ns: 0, gap: 0, locks: 1, reads: 0, hog: false };
    let pass = |_| work::run(&NOTHING, &cell, how).map(|outcome| 1e9 / outcome.rate());
    Ok(lockwright_measure::stats::median(
        &(0..rounds).map(pass).collect::<Result<Vec<_>, Fault>>()?,
    ))
}
