//! Wound/wait mutexes: the cases of the kernel's `kernel/locking/test-ww_mutex.c`, under its names,
//! each for both algorithms.
//!
//! - `mutex`: they exclude, whether the holder spins or sleeps, the other waits or tries, and with a context or without.
//! - `aa`, `abba`, `cycle`: of those who would wait for each other for ever, one is refused, and after it has let go,
//!   all come through.
//! - `stress`: many locks, taken in orders of one's own.

mod case;
mod cases;
mod lock;
mod stress;

use lockwright::platform::linux::Linux;
use lockwright::ww_mutex::{Algorithm, RawWwMutex};
use serde::Serialize;

pub use case::Parameters;
use case::{Class, Faults, Run};
pub use lock::Lock;
/// What a case has come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The case's name.
    pub case: &'static str,
    /// What went wrong.
    pub faults: Vec<String>,
}

/// Runs all cases on the library's mutex; `progress` gets the name of each before it begins.
pub fn run(parameters: &Parameters, progress: &mut dyn FnMut(&str)) -> Vec<Outcome> {
    run_on::<RawWwMutex<Linux>>(parameters, progress)
}

/// Likewise, on one that neither excludes nor refuses: nothing may be found right with it.
pub fn run_busted(parameters: &Parameters, progress: &mut dyn FnMut(&str)) -> Vec<Outcome> {
    run_on::<lock::Busted>(parameters, progress)
}

fn run_on<L: Lock>(parameters: &Parameters, progress: &mut dyn FnMut(&str)) -> Vec<Outcome> {
    let run_case = |(name, run): (&'static str, Run)| {
        progress(name);
        let faults = Faults::default();
        for algorithm in [Algorithm::WoundWait, Algorithm::WaitDie] {
            run(&Class::new(algorithm), parameters, &faults);
        }
        Outcome { case: name, faults: faults.into_list() }
    };
    cases::of::<L>().into_iter().chain(stress::of::<L>()).map(run_case).collect()
}
