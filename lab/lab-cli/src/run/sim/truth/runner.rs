//! The simulations whose figures are compared.

use lockwright_console::status::Status;
use lockwright_sim::workload::{Figures, Run, Workload};
use lockwright_sim::{Config, SECOND, machine};

/// Runs simulations, and checks whether they are consistent.
pub struct Runner {
    seconds: f64,
    seed: u64,
    status: Status,
    runs: u32,
    pub failed: Vec<String>,
}

impl Runner {
    /// For runs of so many virtual seconds each.
    pub fn new(seconds: f64, seed: u64) -> Self {
        Self { seconds, seed, status: Status::new(), runs: 0, failed: Vec::new() }
    }

    /// Runs a workload for a part of the length.
    pub fn run(
        &mut self,
        machine: &str,
        workload: &str,
        lock: &str,
        threads: u32,
        guest: bool,
        part: f64,
    ) -> Figures {
        let config = Config { guest, ..Config::new(machine::named(machine).expect("a preset")) };
        self.run_in(config, workload, lock, threads, part)
    }

    /// Likewise on the machine's first CPUs only.
    pub fn run_on(
        &mut self,
        machine: &str,
        cpus: u32,
        workload: &str,
        lock: &str,
        threads: u32,
        part: f64,
    ) -> Figures {
        let machine = machine::named(machine).expect("a preset");
        let config = Config { cpus: Some(cpus), ..Config::new(machine) };
        self.run_in(config, workload, lock, threads, part)
    }

    pub fn run_in(
        &mut self,
        config: Config,
        workload: &str,
        lock: &str,
        threads: u32,
        part: f64,
    ) -> Figures {
        self.runs += 1;
        let what = format!("{workload} on {}: {lock}, {threads} threads", config.machine.name);
        self.status.show(&format!("{what} ({} runs)", self.runs));
        let config = Config { seed: self.seed, ..config };
        let length = (self.seconds * part * SECOND as f64) as u64;
        let workload = Workload::named(workload).expect("a workload");
        let run = Run { config, threads, length: length.max(1), libraries: Vec::new() };
        let figures = workload.run(&run, lock).expect("a lock of it");
        let stuck = !figures.outcome.stuck.is_empty();
        if stuck || figures.intrusions > 0 || !conserves(&figures) {
            self.failed.push(what);
        }
        figures
    }
}

/// Whether each thread's time is the sum of what it was spent on.
fn conserves(figures: &Figures) -> bool {
    let outcome = &figures.outcome;
    outcome.tasks.iter().zip(&outcome.clocks).all(|(times, clock)| times.total() == *clock)
}
