//! What several processes make together: the locks of one cycle, where each process has a part of it.

pub mod combinations;
pub mod contribution;
pub mod processes;
pub mod search;
pub mod tell;

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::Lock;

use self::processes::Processes;
use self::search::SharedLocks;
use crate::model::{Model, Sources};
use crate::view::candidate::Candidate;

/// The cycles that processes of one run make with locks in memory that they share, and whether all were looked at.
pub fn shared_cycles(sources: &Sources<'_>) -> (Vec<Candidate>, bool) {
    let shares = |ledger: &Ledger| ledger.rows::<Lock>().any(|(_, lock)| lock.shared != 0);
    let (indices, ledgers): (Vec<usize>, Vec<&Ledger>) =
        sources.ledgers.iter().enumerate().filter(|(_, ledger)| shares(ledger)).unzip();
    let locks = SharedLocks::new(&ledgers);
    if locks.is_empty() {
        return (Vec::new(), true);
    }
    let models: Vec<Model<'_>> =
        indices.into_iter().map(|index| Model::new(sources, index)).collect();
    let run_of = vec![0; models.len()];
    let all = Processes { sources, models: &models, runs: &[], run_of: &run_of };
    let (cycles, whole) = locks.cycles(&all);
    (cycles.iter().map(|cycle| tell::candidate(&all, cycle)).collect(), whole)
}
