//! `cargo xtask bench debugobjects`: what each of Long's 2019 debugobjects patches is worth in the
//! engine's pools, and what `lockwright check` costs programs that allocate and free a lot.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use lockwright_measure::stats;
use serde_json::{Value, json};

use super::arm::{Arm, Bench, said};
use super::comparison::{BenchOptions, compare, conclude, machine};
use super::table::Results;
use super::workload;

/// Threads of the pools' workload.
const THREADS: [u64; 2] = [8, 16];

/// With all patches at least so many times fewer records come from the slab, and the pool's lock is
/// taken less often, than with none.
const ALLOCATIONS_AIM: f64 = 6.0;
const LOCK_AIM: f64 = 10.0;

/// Patches' bits, as the engine's `Switches` has them: patch 1 is the lowest, the shape of 2024 the
/// sixth.
const fn first(n: u32) -> u32 {
    (1 << n) - 1
}
const NONE: u32 = 0;
const ALL: u32 = first(5);
const SHAPE_2024: u32 = first(6);
const fn all_but(patch: u32) -> u32 {
    ALL & !(1 << (patch - 1))
}

/// What is switched on.
const ARMS: [(&str, u32); 12] = [
    ("none", NONE),
    ("1: threads' pools", first(1)),
    ("1 + 2: look-ahead", first(2)),
    ("1 to 3: batched filling", first(3)),
    ("1 to 4: lazy freeing", first(4)),
    ("1 to 5: all", ALL),
    ("all but 1", all_but(1)),
    ("all but 2", all_but(2)),
    ("all but 3", all_but(3)),
    ("all but 4", all_but(4)),
    ("all but 5", all_but(5)),
    ("all, in the shape of 2024", SHAPE_2024),
];

/// What is printed of a run, and its name there.
const COLUMNS: [(&str, &str); 6] = [
    ("objs_allocated", "objs_allocated"),
    ("objs_freed", "objs_freed"),
    ("pool lock", "pool_lock_acquired"),
    ("contended", "pool_lock_contended"),
    ("elapsed", "elapsed_s"),
    ("system", "system_s"),
];
const ALLOCATED: usize = 0;
const ACQUIRED: usize = 2;

/// How much there is to do.
struct Size {
    threads: u64,
    /// Jobs of a thread in a build.
    jobs: u64,
    /// Objects that are there all the time.
    resident: u64,
}

impl Size {
    fn new(threads: u64, smoke: bool) -> Self {
        if smoke {
            Self { threads, jobs: 3, resident: 1_000 }
        } else {
            Self { threads, jobs: 320 / threads, resident: 10_000 }
        }
    }
}

/// One setting of the switches: medians of its runs, by column.
struct Row {
    arm: &'static str,
    switches: u32,
    medians: [f64; COLUMNS.len()],
}

/// All settings, with one number of threads.
struct Pools {
    threads: u64,
    /// Objects acquired in a run.
    objects: u64,
    rows: Vec<Row>,
}

/// Runs it.
pub fn run(bench: &'static Bench, options: &BenchOptions) -> Result<(), String> {
    let rounds = if options.smoke { 2 } else { usize::from(options.rounds) };
    let wanted = |name: &str| options.only.as_ref().is_none_or(|text| name.contains(text.as_str()));
    let mut results = Results::new(machine());
    let mut all_pools = Vec::new();
    if wanted("pools") {
        let program = crate::builds::release_example("lockwright-engines", "pools")?;
        for threads in THREADS {
            eprintln!("pools, {threads} threads ...");
            all_pools.push(measure(&program, &Size::new(threads, options.smoke), rounds)?);
        }
    }
    for candidate in workload::allocating(bench, &wanted) {
        match candidate {
            Ok(mut workload) => {
                eprintln!("{} ...", workload.name);
                results.lines.push(compare(&mut workload, [Arm::Native, Arm::Check], rounds)?);
                // What of that is debugobjects: the first figure is `check --no-objects`.
                workload.name.insert_str(0, "objects off, on: ");
                workload.aim = None;
                results.lines.push(compare(&mut workload, [Arm::NoObjects, Arm::Check], rounds)?);
            }
            Err(missing) => results.skipped.push(missing),
        }
    }
    print!("{}", results.text());
    for pools in &all_pools {
        print!("{}", pools.text(rounds, options.smoke));
    }
    let mut json = results.json();
    json["pools"] = all_pools.iter().map(Pools::json).collect();
    conclude(options, &json, results.skipped.is_empty())?;
    // Unlike times they are the engine's doing, not the machine's. A short run says nothing of
    // them.
    if options.smoke || all_pools.iter().all(Pools::meets_its_aims) {
        Ok(())
    } else {
        Err("the pools' aims are missed".to_owned())
    }
}

fn measure(program: &Path, size: &Size, rounds: usize) -> Result<Pools, String> {
    let mut runs: Vec<Vec<Value>> = ARMS.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        // The arms take turns to go first.
        for i in 0..ARMS.len() {
            let arm = (i + round) % ARMS.len();
            let mut command = Command::new(program);
            command.args(
                [u64::from(ARMS[arm].1), size.threads, size.jobs, size.resident]
                    .map(|n| n.to_string()),
            );
            let text = said(&mut command)?;
            runs[arm].push(serde_json::from_str(&text).map_err(|e| format!("{e}: {text}"))?);
        }
    }
    let number =
        |run: &Value, name: &str| run[name].as_f64().ok_or_else(|| format!("no {name} in: {run}"));
    let mut rows = Vec::new();
    for (&(arm, switches), runs) in ARMS.iter().zip(&runs) {
        let mut medians = [0.0; COLUMNS.len()];
        for (median, (_, name)) in medians.iter_mut().zip(COLUMNS) {
            let sample: Vec<f64> =
                runs.iter().map(|run| number(run, name)).collect::<Result<_, _>>()?;
            *median = stats::median(&sample);
        }
        rows.push(Row { arm, switches, medians });
    }
    // The same in all runs.
    let objects = number(&runs[0][0], "acquired")? as u64;
    Ok(Pools { threads: size.threads, objects, rows })
}

impl Pools {
    fn row(&self, switches: u32) -> Option<&Row> {
        self.rows.iter().find(|row| row.switches == switches)
    }

    /// The ratios of no patch to all patches: records taken from the slab, and the lock taken.
    fn ratios(&self) -> Option<(f64, f64)> {
        let (before, after) = (self.row(NONE)?.medians, self.row(ALL)?.medians);
        Some((before[ALLOCATED] / after[ALLOCATED], before[ACQUIRED] / after[ACQUIRED]))
    }

    fn meets_its_aims(&self) -> bool {
        self.ratios()
            .is_some_and(|(allocations, lock)| allocations >= ALLOCATIONS_AIM && lock >= LOCK_AIM)
    }

    fn text(&self, rounds: usize, smoke: bool) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = write!(out, "\n{:<26}", format!("pools, {} threads", self.threads));
        for (title, _) in COLUMNS {
            let _ = write!(out, " {title:>14}");
        }
        let _ = writeln!(out);
        for row in &self.rows {
            let _ = write!(out, "{:<26}", row.arm);
            for (median, (_, name)) in row.medians.iter().zip(COLUMNS) {
                let _ = match name.strip_suffix("_s") {
                    Some(_) => write!(out, " {median:>12.3} s"),
                    None => write!(out, " {median:>14.0}"),
                };
            }
            let _ = writeln!(out);
        }
        let _ = writeln!(
            out,
            "{} objects acquired and given up in three builds; {rounds} runs each, interleaved; medians.",
            self.objects
        );
        if let Some((allocations, lock)) = self.ratios() {
            let judge = |ratio, aim| match ratio >= aim {
                _ if smoke => "too short a run to say",
                true => "met",
                false => "missed",
            };
            let _ = writeln!(
                out,
                "none of the patches against all five: {allocations:.1} times the allocations (aim {ALLOCATIONS_AIM}, \
                 {}; published: 34,954,917 / 5,796,864 = 6.0),\n{lock:.1} times the acquisitions of the pool's lock \
                 (aim {LOCK_AIM}, {}; none published).",
                judge(allocations, ALLOCATIONS_AIM),
                judge(lock, LOCK_AIM),
            );
        }
        out
    }

    fn json(&self) -> Value {
        let row = |row: &Row| {
            let mut json = json!({ "arm": row.arm, "switches": row.switches });
            for (median, (_, name)) in row.medians.iter().zip(COLUMNS) {
                json[name] = json!(median);
            }
            json
        };
        let (allocations, lock) = self.ratios().unwrap_or_default();
        json!({
            "threads": self.threads, "objects": self.objects,
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
            "allocations_ratio": allocations, "pool_lock_ratio": lock,
        })
    }
}
