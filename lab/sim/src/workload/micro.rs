//! The microbenchmark of Long's 2017 pvqspinlock patch: all threads lock and unlock as fast as they can. The patch does
//! not say what the section does: here each thread increments a counter of its own. (With a counter that all share the
//! unfair lock does half as many operations, and the hybrid one as many.)

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lockwright::platform::Atomic;

use super::{Figures, Run, Worker, run_workers};
use crate::cell::Cell;
use crate::locks::{Kind, PLACE};
use crate::platform::Sim;
use crate::time::{NANOSECOND, Time};

/// A thread's loop takes less than this between a release and the next acquisition: a call, a check
/// for the end, and whatever varies between rounds. FITTED on 36 virtual CPUs of Long's 2017
/// pvqspinlock patch: see docs/lab/simulator.md.
const BETWEEN: Time = 65 * NANOSECOND;

pub fn run(run: &Run, kind: &Kind) -> Figures {
    run_workers(run, |setup| {
        let lock = kind.place(setup, PLACE);
        Box::new(move |mut worker: Worker<'_>| {
            let count: Cell<AtomicU64> = Cell::new(0);
            while !Sim::is_over() {
                lock.with(&mut || {
                    // Relaxed, both: one thread's own.
                    worker.check.section(|| count.store(count.load(Relaxed) + 1, Relaxed));
                });
                worker.count();
                Sim::compute(worker.rng.below(BETWEEN));
            }
        })
    })
}
