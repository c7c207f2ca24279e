//! Wound/wait mutexes: the cases of the kernel's `kernel/locking/test-ww_mutex.c`, under its names,
//! each for both algorithms.
//!
//! - `mutex`: they exclude, whether the holder spins or sleeps, the other waits or tries, and with a context or without.
//! - `aa`, `abba`, `cycle`: of those who would wait for each other for ever, one is refused, and after it has let go,
//!   all come through.
//! - `stress`: many locks, taken in orders of one's own.

mod cases;
mod lock;
mod stress;

use std::sync::Mutex;
use std::time::Duration;

use lockwright::platform::linux::Linux;
use lockwright::ww_mutex::{Algorithm, RawWwMutex};
use serde::Serialize;

pub use lock::Lock;

type Class = lockwright::ww_mutex::Class<Linux>;
type Ctx = lockwright::ww_mutex::AcquireCtx<Linux>;

/// How much is done.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Parameters {
    /// How long each thread begins new transactions in a case of stress; it ends one at least.
    pub stress: Duration,
    /// Transactions of each thread in such a case, instead of a time; 0: as the time allows.
    pub acquisitions: u64,
    /// The seed of the orders in which locks are taken.
    pub seed: u64,
    /// CPUs that the numbers of threads are made for.
    pub cpus: usize,
}

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

/// A case.
type Run = fn(&Class, &Parameters, &Faults);

/// What went wrong in a case.
#[derive(Default)]
struct Faults(Mutex<Vec<String>>);

impl Faults {
    /// Notes `fault`, once, unless `right`.
    fn check(&self, right: bool, fault: &str) {
        if right {
            return;
        }
        let mut list = self.0.lock().unwrap();
        if list.iter().all(|known| known != fault) {
            list.push(fault.to_owned());
        }
    }

    fn into_list(self) -> Vec<String> {
        self.0.into_inner().unwrap()
    }
}
