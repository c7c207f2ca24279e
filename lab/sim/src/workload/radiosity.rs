//! SPLASH's radiosity, as LiTL's authors measured it with many locks (H. Guiroux, R. Lachaize and V. Quéma, *Multicore
//! Locks: The Case Is Not Closed Yet*, USENIX ATC 2016; `radiosity_ll` of their data). Its operation is the task that
//! computes the visibility of an element; what its threads are taken to meet at is the lock of the list of free
//! interactions.
//!
//! Their data are operations a second only. How often a task takes that lock and what it computes are FITTED on two of
//! them: see docs/lab/simulator.md. Which lock, and for how long, is what `lockwright meter` reports for Splash-3's
//! radiosity with two threads (`-batch -largeroom -bf 1.5e-5 -p 2`, its first minute): there is one of it, a task takes
//! it 16 times, and half of the time it is held for no more than 20 ns. The other 42 acquisitions of a task are of
//! 3,900 elements' locks and of a queue for each thread.

use lockwright::platform::Atomic;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{Figures, Run, Worker, run_workers};
use crate::cell::Cell;
use crate::locks::{Kind, PLACE};
use crate::platform::Sim;
use crate::time::{MICROSECOND, NANOSECOND, Time};

/// Acquisitions of the lock in a task, FITTED.
const ACQUISITIONS: u64 = 9;
/// The time inside the section, apart from the list's first line: measured.
const SECTION: Time = 20 * NANOSECOND;
/// What a task computes, FITTED.
const TASK: Time = 45 * MICROSECOND;

pub fn run(run: &Run, kind: &Kind) -> Figures {
    run_workers(run, |setup| {
        let lock = kind.place(setup, PLACE);
        let first: &Cell<AtomicU64> = setup.place("the list", Cell::new(0));
        Box::new(move |mut worker: Worker<'_>| {
            while !Sim::is_over() {
                for _ in 0..ACQUISITIONS {
                    Sim::compute(worker.rng.below(2 * TASK / ACQUISITIONS));
                    lock.with(&mut || {
                        worker.check.section(|| {
                            first.store(first.load(Relaxed) + 1, Relaxed);
                            Sim::compute(SECTION);
                        });
                    });
                }
                worker.count();
            }
        })
    })
}
