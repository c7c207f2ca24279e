//! What measuring cost, kept next to the ledgers: only at the end of the run can it be measured.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Calibration;
use super::counts::Counts;
use crate::ledger_dir::{self, RunDir};
use lockwright_analysis::Recording;
use lockwright_analysis::lockmeter::model::{Cost, MeterReport};

/// The file's name in the run's directory.
const NAME: &str = "cost.json";

/// What is known at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// What single things cost.
    pub prices: Calibration,
    /// As [`Cost::program_cpu_ns`].
    pub program_cpu_ns: Option<f64>,
}

impl Known {
    /// The cost of what `report` counts, and of `recording` it.
    pub fn cost(&self, report: &MeterReport, recording: Recording) -> Cost {
        let counts = Counts::of_measured(&recording, report);
        let cost = self.prices.cost(&counts, self.program_cpu_ns);
        Cost {
            pair_ns: cost.pair_ns,
            wait_ns: self.prices.added.wait_ns,
            call_ns: self.prices.added.call_ns,
            cpu_ns: cost.cpu_ns,
            program_cpu_ns: self.program_cpu_ns,
        }
    }

    /// Writes the file.
    ///
    /// # Errors
    /// If that fails.
    pub fn write(&self, dir: &RunDir) -> io::Result<()> {
        dir.write(NAME, &(serde_json::to_string(self)? + "\n"))
    }

    /// What is known of the run that the user's arguments name: one directory with all its ledgers,
    /// or ledgers of one directory, of which only the prices hold.
    pub fn read(arguments: &[PathBuf]) -> Option<Self> {
        let (first, rest) = arguments.split_first()?;
        let is_run = first.is_dir();
        let dir = if is_run { first.as_path() } else { ledger_dir::run_of(first)? };
        if rest.iter().any(|other| is_run || ledger_dir::run_of(other) != Some(dir)) {
            return None;
        }
        let known: Self = serde_json::from_slice(&ledger_dir::read_own(dir, NAME)?).ok()?;
        let program_cpu_ns = known.program_cpu_ns.filter(|_| is_run);
        known.prices.is_plausible().then_some(Self { program_cpu_ns, ..known })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::ledger_dir::Surroundings;
    use crate::run::prices::Prices;

    #[test]
    fn a_kept_run_knows_its_cost() {
        let base =
            std::env::temp_dir().join(format!("lockwright-test-cost-{}", std::process::id()));
        let run = RunDir::create(Some(&base), &Surroundings::current()).unwrap();
        let dir = run.path().to_owned();
        let added = Prices {
            load_ns: 7e5,
            tight_ns: 12.5,
            pair_ns: 31.5,
            sparse_ns: 80.0,
            wait_ns: 400.0,
            call_ns: 60.0,
            ..Prices::default()
        };
        let prices = Calibration { added, watched: added };
        let known = Known { prices, program_cpu_ns: Some(2e9) };
        known.write(&run).unwrap();
        assert_eq!(Known::read(std::slice::from_ref(&dir)), Some(known));
        let part = Some(Known { program_cpu_ns: None, ..known });
        assert_eq!(Known::read(&[dir.join("1.lwl"), dir.join("2.lwl")]), part);
        assert_eq!(Known::read(&[dir.clone(), dir.clone()]), None, "two runs");
        assert_eq!(Known::read(&[dir.join("1.lwl"), "other/2.lwl".into()]), None);
        fs::write(dir.join(NAME), "{\"prices\": {\"pair_ns\": -1}}").unwrap();
        assert_eq!(Known::read(std::slice::from_ref(&dir)), None);
        drop(run);
        fs::remove_dir(base).unwrap();
        assert_eq!(Known::read(&[dir]), None);
    }
}
