//! parking_lot's benchmark of mutexes: all threads take one, do some steps, release it and do as many steps
//! without it.

use super::{Figures, Run, Worker, run_workers};
use crate::locks::{Kind, PLACE};
use crate::platform::Sim;
use crate::time::{NANOSECOND, Time};

/// Steps each: 5, as in the tables of its change 419. A step is a multiplication and an addition that wait for
/// each other, 4 cycles each (Agner Fog's tables), here of 3 GHz. The value that is computed with lies in the mutex, and
/// costs nothing here.
const STEPS: Time = 5 * 8 * NANOSECOND / 3;

pub fn run(run: &Run, kind: &Kind) -> Figures {
    run_workers(run, |setup| {
        let lock = kind.place(setup, PLACE);
        Box::new(move |worker: Worker<'_>| {
            while !Sim::is_over() {
                lock.with(&mut || worker.check.section(|| Sim::compute(STEPS)));
                Sim::compute(STEPS);
                worker.count();
            }
        })
    })
}
