//! Document 4's microbenchmark: all lock and unlock as fast as they can. In the section a counter
//! on a line of its own is incremented, as crates/lab/src/bench/over_commit.rs does natively.

use lockwright::platform::Atomic;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{Figures, Run, Worker, run_workers};
use crate::locks::{Kind, PLACE};
use crate::platform::{Cell, Sim};
use crate::time::{NANOSECOND, Time};

/// A thread's loop takes less than this between a release and the next acquisition: a choice, for a
/// call, a look whether it is to end, and what no two rounds have in common.
const BETWEEN: Time = 20 * NANOSECOND;

pub fn run(run: &Run, kind: &Kind) -> Figures {
    run_workers(run, |setup| {
        let lock = kind.place(setup, PLACE);
        let counter: &Cell<AtomicU64> = setup.place("the counter", Cell::new(0));
        Box::new(move |mut worker: Worker<'_>| {
            while !Sim::is_over() {
                lock.with(&mut || {
                    // Relaxed, both: the lock orders them.
                    worker.check.section(|| counter.store(counter.load(Relaxed) + 1, Relaxed));
                });
                worker.count();
                Sim::compute(worker.rng.below(BETWEEN));
            }
        })
    })
}
