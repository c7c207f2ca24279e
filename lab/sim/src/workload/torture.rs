//! The kernel's locktorture (`kernel/locking/locktorture.c`, `torture_spin_lock_write_delay`): a
//! section is mostly empty, rarely some microseconds long, and very rarely long. Its long one, of
//! 100 ms, is left out: it would be most of what is simulated.

use lockwright::platform::Atomic;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{Figures, Run, Worker, run_workers};
use crate::cell::Cell;
use crate::locks::{Kind, PLACE};
use crate::platform::Sim;
use crate::time::MICROSECOND;

/// The short delay, which comes to one in `threads * 2 * SHORT` sections.
const SHORT: u64 = 2;

pub fn run(run: &Run, kind: &Kind) -> Figures {
    let threads = u64::from(run.threads);
    run_workers(run, |setup| {
        let lock = kind.place(setup, PLACE);
        let data: &Cell<AtomicU64> = setup.place("the data", Cell::new(0));
        Box::new(move |mut worker: Worker<'_>| {
            while !Sim::is_over() {
                let is_long = worker.rng.one_in(threads * 2 * SHORT);
                lock.with(&mut || {
                    worker.check.section(|| {
                        data.store(data.load(Relaxed) + 1, Relaxed);
                        if is_long {
                            Sim::compute(SHORT * MICROSECOND);
                        }
                    });
                });
                worker.count();
            }
        })
    })
}
