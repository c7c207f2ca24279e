//! A case: what it gets, and what goes wrong in it.

use std::sync::Mutex;
use std::time::Duration;

use lockwright::platform::linux::Linux;
use serde::Serialize;

pub type Class = lockwright::ww_mutex::Class<Linux>;

pub type Ctx = lockwright::ww_mutex::AcquireCtx<Linux>;

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

/// A case.
pub type Run = fn(&Class, &Parameters, &Faults);

/// What went wrong in a case.
#[derive(Default)]
pub struct Faults(Mutex<Vec<String>>);

impl Faults {
    /// Notes `fault`, once, unless `right`.
    pub fn check(&self, right: bool, fault: &str) {
        if right {
            return;
        }
        let mut list = self.0.lock().unwrap();
        if list.iter().all(|known| known != fault) {
            list.push(fault.to_owned());
        }
    }

    pub fn into_list(self) -> Vec<String> {
        self.0.into_inner().unwrap()
    }
}
