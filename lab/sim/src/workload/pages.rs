//! The page toucher of Long's 2021 rwsem patch: threads share out a mapping, and each page fault
//! takes the address space's rwsem by a trylock to read, clears a page and releases it. Before the
//! trylock the kernel prefetches the rwsem, so that its line comes to be written to, whatever the
//! shape does first.

use std::cell::Cell;
use std::rc::Rc;

use lockwright::rwsem::RawRwSem;
use lockwright::rwsem::try_read::{AddAndUndo, AssumeFree, Attempt, LoadFirst};

use super::{Figures, Run, UnknownLock, Worker, run_workers};
use crate::locks::PLACE;
use crate::platform::Sim;
use crate::time::{NANOSECOND, Time};

/// The time of a fault without the lock. The single thread of Long's 2021 rwsem patch touched pages
/// for 65.4 s. By its histogram they are 26.2 million: 2.5 us each.
const FAULT: Time = 2_500 * NANOSECOND;
/// The part of it under the lock: a choice.
const UNDER_LOCK: Time = 2_000 * NANOSECOND;
/// From the beginning of the exception's handler, which prefetches the lock to write to it
/// (`prefetchw(&mm->mmap_lock)` of arch/x86/mm/fault.c), to the trylock: a choice.
const ENTRY: Time = 50 * NANOSECOND;

/// A shape of the trylock.
type Shape = fn(&RawRwSem<Sim>) -> Attempt;

/// The names of the shapes.
pub const NAMES: &[&str] = &["assume-free", "load-first", "add-and-undo"];

fn shape(name: &str) -> Option<Shape> {
    match name {
        "assume-free" => Some(|lock| lock.try_down_read_by::<AssumeFree>()),
        "load-first" => Some(|lock| lock.try_down_read_by::<LoadFirst>()),
        "add-and-undo" => Some(|lock| lock.try_down_read_by::<AddAndUndo>()),
        _ => None,
    }
}

pub fn run(run: &Run, lock: &str) -> Result<Figures, UnknownLock> {
    let shape = shape(lock).ok_or_else(|| UnknownLock(lock.to_owned()))?;
    let exchanges = Rc::new(Cell::new(0_u64));
    let counted = Rc::clone(&exchanges);
    let mut figures = run_workers(run, |setup| {
        let lock = setup.place(PLACE, RawRwSem::<Sim>::new_in());
        Box::new(move |mut worker: Worker<'_>| {
            while !Sim::is_over() {
                // No two faults take equally long.
                let spread = worker.rng.below(FAULT / 5);
                Sim::compute(FAULT - UNDER_LOCK - ENTRY);
                Sim::prefetch(lock);
                Sim::compute(ENTRY);
                let attempt = shape(lock);
                counted.set(counted.get() + u64::from(attempt.exchanges));
                assert!(attempt.taken, "nobody writes");
                Sim::compute(UNDER_LOCK - FAULT / 10 + spread);
                // SAFETY: `attempt.taken` is true, so this thread reads.
                unsafe { lock.up_read() };
                worker.count();
            }
        })
    });
    let operations = figures.operations.iter().sum::<u64>();
    figures
        .more
        .push(("exchanges an operation", exchanges.get() as f64 / operations.max(1) as f64));
    Ok(figures)
}
