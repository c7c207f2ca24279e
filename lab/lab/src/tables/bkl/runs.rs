//! Runs of the program under `lockwright meter`: rounds, in each of which all arms take turns.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, thread};

use serde_json::Value;
use tempfile::TempDir;

use crate::tables::{Options, Progress};

/// Processes of a run, whatever the clients: the document's.
const PROCESSES: usize = 192;

/// What is taken out of the big kernel lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// Nothing.
    Before,
    /// One patch.
    DoExit,
    /// One patch.
    GetBlock,
    /// One patch.
    NotifyChange,
    /// One patch.
    Llseek,
    /// All of them.
    Rollup,
}

impl Arm {
    const ALL: [Self; 6] = [
        Self::Before,
        Self::DoExit,
        Self::GetBlock,
        Self::NotifyChange,
        Self::Llseek,
        Self::Rollup,
    ];

    /// Those with one patch.
    pub const ALONE: [Self; 4] = [Self::DoExit, Self::GetBlock, Self::NotifyChange, Self::Llseek];

    /// The program's option.
    pub const fn switch(self) -> &'static str {
        match self {
            Self::Before => "",
            Self::DoExit => "--do-exit",
            Self::GetBlock => "--get-block",
            Self::NotifyChange => "--notify-change",
            Self::Llseek => "--llseek",
            Self::Rollup => "--rollup",
        }
    }
}

/// What one function did with the lock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Site {
    /// Acquisitions.
    pub acquisitions: f64,
    /// Those of them that had to wait.
    pub contended: f64,
    /// Total wait, microseconds.
    pub waited_us: f64,
    /// Total hold time, microseconds.
    pub held_us: f64,
    /// Microseconds.
    pub longest_us: f64,
}

impl Site {
    /// Mean hold, microseconds; 0 of none.
    pub fn mean_us(&self) -> f64 {
        if self.acquisitions > 0.0 { self.held_us / self.acquisitions } else { 0.0 }
    }

    /// Mean wait of those that had to, microseconds; 0 of none.
    pub fn mean_wait_us(&self) -> f64 {
        if self.contended > 0.0 { self.waited_us / self.contended } else { 0.0 }
    }

    /// Percent of the acquisitions.
    pub fn contention(&self) -> f64 {
        100.0 * self.contended / self.acquisitions.max(1.0)
    }

    fn add(&mut self, other: &Self) {
        self.acquisitions += other.acquisitions;
        self.contended += other.contended;
        self.waited_us += other.waited_us;
        self.held_us += other.held_us;
        self.longest_us = self.longest_us.max(other.longest_us);
    }
}

/// The figures of `kernel_flag` in one run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Percent.
    pub utilisation: f64,
    /// Acquisitions.
    pub acquisitions: f64,
    /// Those of them that had to wait.
    pub contended: f64,
    /// Percent of all CPUs' time.
    pub wait_cpu: f64,
    /// Milliseconds.
    pub longest_ms: f64,
    /// Mean hold, microseconds.
    pub hold_us: f64,
    /// Mean wait of those that had to, microseconds.
    pub wait_us: f64,
    /// By function, and within it by line.
    sites: BTreeMap<String, BTreeMap<u64, Site>>,
    /// The lock's part of lockmeter's table.
    pub table: String,
}

impl Run {
    /// Percent of the acquisitions.
    pub fn contention(&self) -> f64 {
        100.0 * self.contended / self.acquisitions.max(1.0)
    }

    /// What a function did with it.
    pub fn site(&self, function: &str) -> Site {
        let mut all = Site::default();
        self.sites.get(function).into_iter().flatten().for_each(|(_, site)| all.add(site));
        all
    }

    /// The site of a function that has so many before it there.
    pub fn nth_site(&self, function: &str, nth: usize) -> Option<&Site> {
        self.sites.get(function)?.values().nth(nth)
    }
}

/// All runs.
pub struct Runs {
    arms: Vec<Vec<Run>>,
    /// What `lockwright diff` prints for no patch and all patches.
    pub diff: String,
}

impl Runs {
    /// One run of each arm, each the same.
    #[cfg(test)]
    pub fn all_alike(run: &Run) -> Self {
        Self { arms: vec![vec![run.clone()]; Arm::ALL.len()], diff: String::new() }
    }

    /// By round.
    pub fn of(&self, arm: Arm) -> &[Run] {
        &self.arms[arm as usize]
    }
}

/// One for each CPU, within what the program takes.
pub fn clients() -> usize {
    thread::available_parallelism().map_or(1, usize::from).clamp(2, 32)
}

/// Runs `program` in all its forms.
///
/// # Errors
/// If it or the tool fails.
pub fn measure(options: &Options, program: &Path, progress: Progress<'_>) -> Result<Runs, String> {
    let scratch = scratch()?;
    let mut runs = Runs { arms: vec![Vec::new(); Arm::ALL.len()], diff: String::new() };
    for round in 1..=options.rounds {
        for arm in Arm::ALL {
            progress(&format!("bkl_fs {}, round {round}", arm.switch()));
            runs.arms[arm as usize].push(run(options, program, arm, scratch.path())?);
        }
    }
    runs.diff = diff(options, program, scratch.path())?;
    Ok(runs)
}

fn run(options: &Options, program: &Path, arm: Arm, scratch: &Path) -> Result<Run, String> {
    let (json, table) = (scratch.join("run.json"), scratch.join("run.txt"));
    let clients = clients();
    let (processes, units) = if options.smoke { (8, 5) } else { (PROCESSES / clients, 20) };
    let mut command = Command::new(&options.tool);
    command.args(["meter", "--compat", "lockmeter", "--output"]).arg(&table);
    command.arg("--json").arg(&json);
    if matches!(arm, Arm::Before | Arm::Rollup) {
        command.args(["--keep", "--ledger-dir"]).arg(scratch.join(ledgers(arm)));
    }
    command.arg("--").arg(program).stdout(Stdio::null());
    for (option, value) in [("--clients", clients), ("--processes", processes), ("--units", units)]
    {
        command.arg(option).arg(value.to_string());
    }
    command.args(Some(arm.switch()).filter(|switch| !switch.is_empty()));
    done(&mut command)?;
    let read = |file: &Path| {
        fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
    };
    let report: Value = serde_json::from_str(&read(&json)?)
        .map_err(|error| format!("{}: {error}", json.display()))?;
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let mut run = of_lock(&report, cpus).ok_or("the report says nothing of kernel_flag")?;
    if run.site("open_namei").acquisitions == 0.0 {
        return Err(format!(
            "kernel_flag is taken elsewhere than expected: {:?}",
            run.sites.keys()
        ));
    }
    run.table = part_of(&read(&table)?, "kernel_flag");
    Ok(run)
}

fn ledgers(arm: Arm) -> &'static str {
    if arm == Arm::Before { "before" } else { "after" }
}

/// The figures of `kernel_flag` in a report of the meter's.
fn of_lock(report: &Value, cpus: usize) -> Option<Run> {
    let lock = report["locks"].as_array()?.iter().find(|lock| lock["name"] == "kernel_flag")?;
    let total = &lock["total"];
    let elapsed = lock["measured_ns"].as_f64()? * cpus as f64;
    let mut run = Run {
        utilisation: 100.0 * lock["utilisation"].as_f64()?,
        acquisitions: total["acquisitions"].as_f64()?,
        contended: total["contended"].as_f64()?,
        wait_cpu: 100.0 * total["wait"]["total_ns"].as_f64()? / elapsed,
        longest_ms: total["hold"]["max_ns"].as_f64()? / 1e6,
        ..Run::default()
    };
    let contended = run.contended.max(1.0);
    run.hold_us = total["hold_ns"].as_f64()? / run.acquisitions.max(1.0) / 1e3;
    run.wait_us = total["wait"]["total_ns"].as_f64()? / contended / 1e3;
    for site in lock["sites"].as_array()? {
        let numbers = &site["numbers"];
        let (function, line) = function(&site["stack"])?;
        let of = run.sites.entry(function.to_owned()).or_default().entry(line).or_default();
        of.add(&Site {
            acquisitions: numbers["acquisitions"].as_f64()?,
            contended: numbers["contended"].as_f64()?,
            waited_us: numbers["wait"]["total_ns"].as_f64()? / 1e3,
            held_us: numbers["hold_ns"].as_f64()? / 1e3,
            longest_us: numbers["hold"]["max_ns"].as_f64()? / 1e3,
        });
    }
    Some(run)
}

/// The program's function that has a call's code: what calls the library's, whose own helpers may
/// have frames, and is not inlined; and the line of its call, 0 if that is not known.
fn function(stack: &Value) -> Option<(&str, u64)> {
    let frames = stack.as_array()?.iter().filter(|frame| frame["inlined"] != true);
    let named: Vec<(&str, u64)> = frames
        .filter_map(|frame| {
            Some((frame["function"].as_str()?, frame["line"].as_u64().unwrap_or(0)))
        })
        .collect();
    let library = named.iter().rposition(|(name, _)| name.starts_with("lw_"));
    named.get(library.map_or(0, |at| at + 1)).copied()
}

/// The titles, and the lines of one lock, from lockmeter's table.
fn part_of(table: &str, lock: &str) -> String {
    let lines = || table.lines().skip_while(|line| !line.starts_with("SPINLOCKS"));
    let ends = |line: &&str| line.split_whitespace().last() != Some(lock);
    let titles = lines().take(2);
    let group = lines().skip_while(ends).take_while(|line| !line.trim().is_empty());
    // Sites that take several locks are none of the lock's.
    titles.chain(group).map(|line| format!("{}\n", line.trim_end())).collect()
}

fn diff(options: &Options, program: &Path, scratch: &Path) -> Result<String, String> {
    let file = scratch.join("diff.txt");
    let mut command = Command::new(&options.tool);
    command.args(["diff", "--top", "1", "--output"]).arg(&file);
    command.args(kept(scratch, Arm::Before)?).arg("--").args(kept(scratch, Arm::Rollup)?);
    done(&mut command)?;
    let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    // Where the program lies is of no interest.
    let dir = program.parent().map_or_else(String::new, |dir| format!("{}/", dir.display()));
    Ok(if dir.len() > 1 { text.replace(&dir, "") } else { text })
}

/// The directories of an arm's runs.
fn kept(scratch: &Path, arm: Arm) -> Result<Vec<PathBuf>, String> {
    let dir = scratch.join(ledgers(arm));
    let failed = |error: std::io::Error| format!("{}: {error}", dir.display());
    let mut runs: Vec<_> = fs::read_dir(&dir)
        .map_err(failed)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    runs.retain(|path| path.is_dir());
    runs.sort();
    Ok(runs)
}

/// Runs it to a good end.
fn done(command: &mut Command) -> Result<(), String> {
    let out = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if out.status.success() {
        return Ok(());
    }
    Err(format!("{command:?} ends with {}: {}", out.status, String::from_utf8_lossy(&out.stderr)))
}

/// A directory of our own with those for the ledgers, gone with the result.
fn scratch() -> Result<TempDir, String> {
    let dir = TempDir::with_prefix("lockwright-tables-")
        .map_err(|error| format!("no temporary directory: {error}"))?;
    for arm in [Arm::Before, Arm::Rollup] {
        let ledgers = dir.path().join(ledgers(arm));
        fs::create_dir(&ledgers).map_err(|error| format!("{}: {error}", ledgers.display()))?;
    }
    Ok(dir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_locks_lines_are_cut_out_of_the_table() {
        let table = "head\nSPINLOCKS  HOLD\n  UTIL  NAME\n\n  *TOTAL*\n\n 1%  other\n\n 2%  kernel_flag\n 3%    f+0x1\n\n 4%  last\n";
        assert_eq!(
            part_of(table, "kernel_flag"),
            "SPINLOCKS  HOLD\n  UTIL  NAME\n 2%  kernel_flag\n 3%    f+0x1\n"
        );
    }

    #[test]
    fn figures_are_those_of_the_lock_and_of_the_functions_that_call() {
        let numbers = |count: u64, ns: u64| {
            json!({
                "acquisitions": count, "contended": 1, "hold_ns": ns,
                "hold": { "max_ns": ns }, "wait": { "total_ns": 500.0 },
            })
        };
        let stack = |name: &str| {
            json!([
                { "function": "acquire", "inlined": true },
                { "function": "lockwright::tool::watched", "inlined": false },
                { "function": "lw_bkl_lock", "inlined": false },
                { "function": "lock_kernel", "inlined": true },
                { "function": name, "inlined": false },
            ])
        };
        let report = json!({ "locks": [
            { "name": "other" },
            {
                "name": "kernel_flag", "measured_ns": 1000, "utilisation": 0.25, "total": numbers(4, 4000),
                "sites": [
                    { "stack": stack("open_namei"), "numbers": numbers(1, 1000) },
                    { "stack": stack("open_namei"), "numbers": numbers(3, 3000) },
                ],
            },
        ] });
        let run = of_lock(&report, 2).unwrap();
        assert_eq!((run.utilisation, run.contention(), run.wait_cpu), (25.0, 25.0, 25.0));
        let site = run.site("open_namei");
        assert_eq!((site.acquisitions, site.mean_us(), site.longest_us), (4.0, 1.0, 3.0));
        assert_eq!(run.site("sys_lseek").acquisitions, 0.0);
    }
}
