//! The build of Long's 2018 lockdep patches: each acquisition and each release is checked. Before
//! the patches an acquisition is counted in its class, on a line that all CPUs write to. And a
//! release is checked before the lock is free. After them neither.
//!
//! Most locks are of one object that one CPU works on at a time; a few are shared. Locks of a class
//! have its counter in common, whosever they are: some classes are taken often, most seldom.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lockwright::platform::Atomic;
use lockwright::qspinlock::RawQspinlock;

use super::{Figures, Run, UnknownLock, Worker, run_workers};
use crate::cell::Cell;
use crate::platform::Sim;
use crate::rng::Rng;
use crate::time::{NANOSECOND, Time};

/// Classes: a choice; the kernel has some 2,000, most of which a build never takes.
const CLASSES: usize = 128;
/// One acquisition in so many is of a lock that all share: a choice.
pub const SHARED: u64 = 512;
/// From one acquisition to the next, on average: a choice.
pub const BETWEEN: Time = 1_000 * NANOSECOND;
/// Sections last less than this: a choice.
pub const SECTION: Time = 200 * NANOSECOND;
/// What both checks take together, half of it each. FITTED on the machine of one socket of Long's
/// 2018 lockdep patches, after them, +40.7 %: see docs/lab/simulator.md.
const CHECKS: Time = 407 * NANOSECOND;

/// The names of the runs.
pub const NAMES: &[&str] = &["unchecked", "before", "after"];

/// What is patched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lockdep {
    Off,
    Before,
    After,
}

/// The class of an acquisition: the n-th is taken as often as the first divided by n (Zipf). That it is
/// so was fitted together with the number of classes: see docs/lab/simulator.md.
fn class(rng: &mut Rng, weights: &[u64]) -> usize {
    let turn = rng.below(*weights.last().expect("there are classes"));
    weights.partition_point(|sum| *sum <= turn)
}

/// Running sums of how often classes are taken.
fn weights() -> Vec<u64> {
    let each = (1..=CLASSES as u64).map(|rank| 1_000_000 / rank);
    each.scan(0, |sum, weight| {
        *sum += weight;
        Some(*sum)
    })
    .collect()
}

pub fn run(run: &Run, name: &str) -> Result<Figures, UnknownLock> {
    let lockdep = match name {
        "unchecked" => Lockdep::Off,
        "before" => Lockdep::Before,
        "after" => Lockdep::After,
        _ => return Err(UnknownLock(name.to_owned())),
    };
    Ok(run_workers(run, |setup| {
        let classes: Vec<&Cell<AtomicU64>> =
            (0..CLASSES).map(|_| setup.place("the classes", Cell::new(0))).collect();
        let shared = setup.place("the shared lock", RawQspinlock::<Sim>::new_in());
        let weights = weights();
        Box::new(move |mut worker: Worker<'_>| {
            let own = RawQspinlock::<Sim>::new_in();
            while !Sim::is_over() {
                Sim::compute(worker.rng.below(2 * (BETWEEN - SECTION / 2)));
                let is_shared = worker.rng.one_in(SHARED);
                let lock = if is_shared { shared } else { &own };
                let class = class(&mut worker.rng, &weights);
                let section = worker.rng.below(SECTION);
                if lockdep != Lockdep::Off {
                    Sim::compute(CHECKS / 2);
                }
                if lockdep == Lockdep::Before {
                    classes[class].fetch_add(1, Relaxed);
                }
                lock.lock();
                let inside = || {
                    Sim::compute(section);
                    if lockdep == Lockdep::Before {
                        Sim::compute(CHECKS / 2);
                    }
                };
                if is_shared {
                    worker.check.section(inside)
                } else {
                    inside()
                }
                // SAFETY: this thread took `lock` above, in this round of its loop.
                unsafe { lock.unlock() };
                if lockdep == Lockdep::After {
                    Sim::compute(CHECKS / 2);
                }
                worker.count();
            }
        })
    }))
}
