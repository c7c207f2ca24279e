//! `lockwright-lab sim --truth`: compares simulated with published figures, and says whether they
//! agree.

mod bkl;
mod cna;
mod debugobjects;
mod judgement;
mod litl;
mod lockdep;
mod parking_lot;
mod pvqspinlock;
mod rwsem_trylock;
mod zio;

use std::fmt::Write;

use lockwright_sim::workload::{Figures, Run, Workload};
use lockwright_sim::{Config, SECOND, machine};
use serde_json::{Value, json};

use self::judgement::{Claim, Row, Source};
use lockwright_console::status::Status;

/// All that was compared.
#[derive(Debug, Default)]
pub struct Truth {
    rows: Vec<Row>,
    claims: Vec<Claim>,
    /// Runs that did what none may.
    failed: Vec<String>,
    seconds: f64,
    seed: u64,
}

/// Compares all of it. The microbenchmark's runs are of so many virtual seconds each.
pub fn compare(seconds: f64, seed: u64) -> Truth {
    let mut truth = Truth { seconds, seed, ..Truth::default() };
    let mut runner = Runner { seconds, seed, status: Status::new(), runs: 0, failed: Vec::new() };
    lockdep::run(&mut runner, &mut truth);
    debugobjects::run(&mut runner, &mut truth);
    bkl::run(&mut runner, &mut truth);
    rwsem_trylock::run(&mut runner, &mut truth);
    pvqspinlock::run(&mut runner, &mut truth);
    cna::run(&mut runner, &mut truth);
    litl::run(&mut runner, &mut truth);
    parking_lot::run(&mut runner, &mut truth);
    zio::run(&mut runner, &mut truth);
    truth.failed = runner.failed;
    truth
}

/// Runs simulations, and checks whether they are consistent.
struct Runner {
    seconds: f64,
    seed: u64,
    status: Status,
    runs: u32,
    failed: Vec<String>,
}

impl Runner {
    /// Runs a workload for a part of the length.
    fn run(
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
    fn run_on(
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

    fn run_in(
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

impl Truth {
    fn row(&mut self, source: Source, what: String, published: f64, simulated: f64, fitted: bool) {
        self.rows.push(Row { source, what, published, simulated, is_fitted: fitted });
    }

    /// Whether a simulation did what none may: lost time, hung, or let two threads into a section.
    pub fn has_failed(&self) -> bool {
        !self.failed.is_empty()
    }

    /// For machines.
    pub fn json(&self) -> Value {
        json!({
            "seconds": self.seconds,
            "seed": self.seed,
            "figures": self.rows.iter().map(Row::json).collect::<Vec<_>>(),
            "claims": self.claims.iter().map(Claim::json).collect::<Vec<_>>(),
            "failed": self.failed,
        })
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(
            out,
            "Published and simulated: {} s of virtual time, seed {}\n",
            self.seconds, self.seed
        );
        for row in &self.rows {
            let verdict = match (row.is_as_published(), row.is_fitted) {
                (true, true) => "fitted",
                (false, true) => "fitted, MISSED",
                (true, false) => "within 25 %",
                (false, false) => "MISSED",
            };
            let _ = writeln!(
                out,
                "  {:<11}  {:<78} {:>8.3} {:>8.3} {:>+6.0} %  {verdict}",
                row.source,
                row.what,
                row.published,
                row.simulated,
                row.error() * 100.0
            );
        }
        out.push('\n');
        for claim in &self.claims {
            let verdict = if claim.holds { "holds" } else { "DOES NOT HOLD" };
            let Claim { source, claim, published, simulated, .. } = claim;
            let _ = writeln!(
                out,
                "  {source:<11}  {claim}: published {published}; simulated {simulated}: {verdict}"
            );
        }
        let predicted = || self.rows.iter().filter(|row| !row.is_fitted);
        let right = predicted().filter(|row| row.is_as_published()).count();
        let holding = self.claims.iter().filter(|claim| claim.holds).count();
        let _ = writeln!(
            out,
            "\n{right} of {} figures that no constant was fitted to are within 25 %, {holding} of {} claims hold.",
            predicted().count(),
            self.claims.len()
        );
        for failed in &self.failed {
            let _ = writeln!(out, "!!! {failed}: time was lost, or the lock failed");
        }
        out
    }
}
