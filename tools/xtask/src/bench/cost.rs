//! `cargo xtask bench cost`: is the line about the tool's own cost true?
//!
//! Each program runs watched, and natively right before or after that. The CPU time that watching added is compared with what
//! the report says, both as parts of the watched program's time: a machine that is half as fast for a while then changes neither.
//! A program runs on one processor: threads that meet at a lock use another amount of time in each run.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use lockwright_measure::stats;
use serde_json::{Value, json};

use super::arm::{Bench, interpreter, said};
use super::comparison::{BenchOptions, conclude, machine};
use super::pages::with_figures;
use super::usage::Usage;
use crate::workspace::{read, root};

/// The report may be off by so much.
const MOST_OFF: f64 = 0.15;

/// Options of the comparison.
#[derive(Debug, Args)]
pub struct CostOptions {
    /// Options that other benchmarks have, too.
    #[command(flatten)]
    pub common: BenchOptions,

    /// Write docs/bench/cost.md instead of standard output.
    #[arg(long, conflicts_with = "smoke")]
    pub write: bool,
}

/// How a program is watched, and the words for it.
const ARMS: [(&str, &[&str]); 4] = [
    ("check", &["check", "--exit-code", "0"]),
    ("meter", &["meter"]),
    ("meter, sampled", &["meter", "--hold=sample:64"]),
    ("run", &["run", "--exit-code", "0"]),
];

/// A program to watch.
struct Program {
    name: &'static str,
    command: Vec<OsString>,
}

/// What the programs took, ns of CPU time, in all rounds.
#[derive(Default)]
struct Cell {
    added: Vec<f64>,
    said: Vec<f64>,
    /// The watched program in all.
    total: Vec<f64>,
}

impl Cell {
    /// What the report says, of what was measured: each as a part of the program's time.
    fn part(&self) -> f64 {
        let share = |all: &[f64]| {
            let shares: Vec<f64> = all.iter().zip(&self.total).map(|(ns, of)| ns / of).collect();
            stats::median(&shares)
        };
        share(&self.said) / share(&self.added)
    }

    fn is_true(&self) -> bool {
        (1.0 - MOST_OFF..=1.0 + MOST_OFF).contains(&self.part())
    }
}

struct Row {
    program: Program,
    native: Vec<f64>,
    cells: [Cell; ARMS.len()],
}

/// Compares all programs.
///
/// # Errors
/// If one does not run to its end, or a report does not say what the tool took.
pub fn run(bench: &'static Bench, options: &BenchOptions) -> Result<(), String> {
    let (text, json) = measure(bench, options)?;
    print!("{text}");
    conclude(options, &json, true)
}

/// As [`run`], and writes the page.
///
/// # Errors
/// As [`run`], or if the page cannot be written.
pub fn write(bench: &'static Bench, options: &BenchOptions) -> Result<(), String> {
    let (text, json) = measure(bench, options)?;
    const PAGE: &str = "docs/bench/cost.md";
    fs::write(root().join(PAGE), with_figures(PAGE, &text)?).map_err(|e| format!("{PAGE}: {e}"))?;
    conclude(options, &json, true)
}

fn measure(bench: &Bench, options: &BenchOptions) -> Result<(String, Value), String> {
    let rounds = if options.smoke { 1 } else { usize::from(options.rounds) };
    let wanted = |name: &str| options.only.as_ref().is_none_or(|text| name.contains(text.as_str()));
    let timed = bench.build("timed", &[])?;
    let mut rows = Vec::new();
    for program in programs(bench)?.into_iter().filter(|program| wanted(program.name)) {
        eprintln!("{} ...", program.name);
        let mut row = Row { program, native: Vec::new(), cells: Default::default() };
        for round in 0..rounds {
            compare(bench, &timed, &mut row, round)?;
        }
        rows.push(row);
    }
    Ok((text(&rows, rounds), as_json(&rows)))
}

/// The programs: what each does is mostly of one kind.
fn programs(bench: &Bench) -> Result<Vec<Program>, String> {
    let number =
        |full: u64| OsString::from((if bench.smoke { full / 100 } else { full }).to_string());
    let at = |file: &str| root().join(file).into_os_string();
    let tight = bench.build("tight", &[])?.into_os_string();
    let fresh = bench.build("fresh", &[])?.into_os_string();
    let sqlite = bench.build("sqlite", &["-lsqlite3"])?.into_os_string();
    let nested = bench.build_test_program("cost_nested")?.into_os_string();
    let queue = at("tools/xtask/src/bench/programs/threads.py");
    let pool = at("tools/xtask/src/bench/programs/pool.py");
    let program = |name, command| Program { name, command };
    Ok(vec![
        program("one lock, nothing else", vec![tight, number(10_000_000)]),
        program("SQLite, 4 threads", vec![sqlite, "0".into(), number(20_000)]),
        program("CPython, 4 threads, a queue", vec![interpreter()?, queue, number(20_000)]),
        program("CPython, ThreadPoolExecutor.map", vec![interpreter()?, pool, number(10_000)]),
        program("300,000 locks, each used once", vec![fresh, number(300_000)]),
        program("20,000 locks nested", vec![nested.clone(), number(20_000), "0".into()]),
        program("80,000 locks nested", vec![nested, number(80_000), "0".into()]),
    ])
}

/// Runs a program once in each arm, and natively next to each of those.
fn compare(bench: &Bench, timed: &Path, row: &mut Row, round: usize) -> Result<(), String> {
    for (nth, (_, words)) in ARMS.iter().enumerate() {
        let is_native_first = (round + nth).is_multiple_of(2);
        let before = if is_native_first { Some(natively(timed, &row.program)?) } else { None };
        let (total, said) = watch(bench, words, &row.program)?;
        let native = before.map_or_else(|| natively(timed, &row.program), Ok)?;
        row.native.push(native);
        let cell = &mut row.cells[nth];
        cell.added.push(total - native);
        cell.said.push(said);
        cell.total.push(total);
    }
    Ok(())
}

/// What a program takes natively.
fn natively(timed: &Path, program: &Program) -> Result<f64, String> {
    let mut command = on_one_processor()?;
    command.arg(timed).args(&program.command);
    Ok(Usage::parse(&said(&mut command)?)?.used.cpu * 1e9)
}

/// What a watched program took in all, and what the tool says it took of that.
fn watch(bench: &Bench, words: &[&str], program: &Program) -> Result<(f64, f64), String> {
    let file = bench.work.join("cost.json");
    let mut command = on_one_processor()?;
    command.arg(&bench.lockwright).args(words).args(["--output", "/dev/null", "--json"]);
    said(command.arg(&file).arg("--").args(&program.command))?;
    let report: Value = serde_json::from_str(&read(&file)?).map_err(|e| e.to_string())?;
    let number = |pointer: &str| report.pointer(pointer).and_then(Value::as_f64);
    let of_check = number("/summary/program_cpu_ns").zip(number("/summary/cost_ns"));
    let of_meter = || number("/cost/program_cpu_ns").zip(number("/cost/cpu_ns"));
    of_check.or_else(of_meter).ok_or(format!("{}: the report says no cost", program.name))
}

/// The last processor that this process may use.
fn on_one_processor() -> Result<Command, String> {
    let status = read(PathBuf::from("/proc/self/status"))?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let last = list.and_then(|list| list.trim().rsplit(['-', ',']).next()).unwrap_or("0");
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", last]);
    Ok(command)
}

fn text(rows: &[Row], rounds: usize) -> String {
    let mut out = format!("{:<32}{:>10}", "ms of CPU time", "native");
    // Writing to a String cannot fail.
    for (name, _) in ARMS {
        let _ = write!(out, "{name:>26}");
    }
    out.push('\n');
    for row in rows {
        let native = stats::median(&row.native) / 1e6;
        let _ = write!(out, "{:<32}{native:>10.1}", row.program.name);
        for cell in &row.cells {
            let [added, said] = [&cell.added, &cell.said].map(|all| stats::median(all) / 1e6);
            let mark = if cell.is_true() { "" } else { " *" };
            let cell = format!("{said:.1} of {added:.1}: {:.2}{mark:2}", cell.part());
            let _ = write!(out, "{cell:>26}");
        }
        out.push('\n');
    }
    let off = 100.0 * MOST_OFF;
    let _ = writeln!(
        out,
        "\nWhat the report says, of what was measured, and the quotient of both as parts of the program's time. *: off by more than {off:.0} %. Medians of {rounds} rounds."
    );
    out
}

fn as_json(rows: &[Row]) -> Value {
    let cell = |(cell, (name, _)): (&Cell, (&str, &[&str]))| json!({ "arm": name, "added_ns": cell.added, "said_ns": cell.said, "quotient": cell.part() });
    let row = |row: &Row| {
        let cells: Vec<Value> = row.cells.iter().zip(ARMS).map(cell).collect();
        json!({ "name": row.program.name, "native_ns": row.native, "cells": cells })
    };
    json!({ "machine": machine(), "rows": rows.iter().map(row).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_without_the_slow_path_is_not_true() {
        // 80,000 locks nested, when the report said 1 ms of 0.7 s.
        let cell = |added: f64, said: f64| Cell {
            added: vec![added; 3],
            said: vec![said; 3],
            total: vec![1e9; 3],
        };
        assert!(!cell(700e6, 1e6).is_true());
        assert!(cell(700e6, 640e6).is_true() && !cell(700e6, 900e6).is_true());
        // A machine that was half as fast in one round of three.
        let slow = Cell {
            added: vec![1.0, 2.0, 2.0],
            said: vec![1.0, 1.0, 2.0],
            total: vec![10.0, 20.0, 20.0],
        };
        assert!((slow.part() - 1.0).abs() < 0.01);
    }
}
