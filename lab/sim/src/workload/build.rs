//! A build-like mix: jobs compute, and now and then the kernel below them takes a lock for a short
//! time: one of a few that all jobs share, of which one is taken more often (a file system's, an
//! allocator's zone lock, a run queue's). How long is a choice, how often is FITTED on the build with 36 virtual CPUs
//! of Long's 2017 pvqspinlock patch: 11.2 million contended acquisitions in 305 s.

use lockwright::platform::Atomic;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{Figures, Run, Worker, run_workers};
use crate::cell::Cell;
use crate::locks::Kind;
use crate::platform::Sim;
use crate::time::{MICROSECOND, NANOSECOND};

/// Locks.
const LOCKS: usize = 4;
/// So many of four sections are of the first lock.
const OF_FIRST: u64 = 2;
/// Between two sections a job computes for less than this.
const BETWEEN: u64 = 200 * MICROSECOND;
/// A section lasts less than this.
const SECTION: u64 = 1_000 * NANOSECOND;

pub fn run(run: &Run, kind: &Kind) -> Figures {
    const NAMES: [&str; LOCKS] = ["lock 0", "lock 1", "lock 2", "lock 3"];
    run_workers(run, |setup| {
        let locks = NAMES.map(|name| kind.place(setup, name));
        let data = NAMES.map(|name| {
            let data: &Cell<AtomicU64> = setup.place(&format!("data of {name}"), Cell::new(0));
            data
        });
        Box::new(move |mut worker: Worker<'_>| {
            while !Sim::is_over() {
                Sim::compute(worker.rng.below(BETWEEN));
                let which = match worker.rng.below(4) {
                    turn if turn < OF_FIRST => 0,
                    _ => worker.rng.below(LOCKS as u64) as usize,
                };
                let length = worker.rng.below(SECTION);
                locks[which].with(&mut || {
                    // Each lock has a section of its own: no common check.
                    data[which].store(data[which].load(Relaxed) + 1, Relaxed);
                    Sim::compute(length);
                });
                worker.count();
            }
        })
    })
}
