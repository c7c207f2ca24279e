//! `cargo xtask bench listings`: how recording, reports, listings and merges grow with the number of lock classes.
//!
//! Each row is a command, each column ten times the classes of the one before. Processor time counts, not the
//! clock: it is the command's own, whatever else the machine does.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::arm::{Bench, said};
use super::comparison::{BenchOptions, conclude, machine};
use super::usage::Usage;

/// Numbers of classes. With the most, a ledger has 1.7 GB.
const CLASSES: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// A command that takes more processor time, in seconds, is ended; larger numbers are left out.
const MOST_SECONDS: u32 = 300;

/// Rows: a name, and the words before the ledgers.
const ROWS: [(&str, &[&str]); 10] = [
    ("report", &["report", "--output", "/dev/null"]),
    ("report --classes", &["report", "--classes"]),
    ("report --chains", &["report", "--chains"]),
    ("report --graph", &["report", "--graph"]),
    ("report --stats", &["report", "--stats", "--output", "/dev/null"]),
    ("report --json", &["report", "--output", "/dev/null", "--json", "/dev/null"]),
    ("report --sarif", &["report", "--output", "/dev/null", "--sarif", "/dev/null"]),
    ("report --html", &["report", "--output", "/dev/null", "--html", "/dev/null"]),
    ("merge of two runs", &["merge", "--output", "/dev/null"]),
    ("diff of two runs", &["diff", "--output", "/dev/null"]),
];

/// What a command took with each number of classes; none where it took too long.
struct Row {
    name: &'static str,
    cells: Vec<Option<Usage>>,
}

/// Measures all rows.
///
/// # Errors
/// If a program does not run to its end.
pub fn run(bench: &'static Bench, options: &BenchOptions) -> Result<(), String> {
    let columns = if options.smoke { &CLASSES[..1] } else { &CLASSES[..] };
    let wanted = |name: &str| options.only.as_ref().is_none_or(|text| name.contains(text.as_str()));
    let (timed, program) = (bench.build("timed", &[])?, bench.build("classes", &[])?);
    let mut rows = vec![Row { name: "record", cells: Vec::new() }];
    rows.extend(
        ROWS.iter().filter(|row| wanted(row.0)).map(|row| Row { name: row.0, cells: Vec::new() }),
    );
    for &classes in columns {
        let kept =
            [bench.work.join(format!("one-{classes}")), bench.work.join(format!("two-{classes}"))];
        for (nth, directory) in kept.iter().enumerate() {
            let usage = record(bench, &timed, &program, directory, classes)?;
            if nth == 0 {
                rows[0].cells.push(usage);
            }
        }
        for row in rows.iter_mut().skip(1) {
            eprintln!("{}, {classes} classes ...", row.name);
            let is_over = row.cells.last().is_some_and(Option::is_none);
            let words =
                ROWS.iter().find(|known| known.0 == row.name).map_or(&[] as &[&str], |row| row.1);
            let runs = if row.name.ends_with("two runs") { &kept[..] } else { &kept[..1] };
            let mut ledgers = Vec::new();
            for directory in runs {
                if row.name.starts_with("diff") && !ledgers.is_empty() {
                    ledgers.push("--".into());
                }
                ledgers.push(only_run(directory)?.into_os_string());
            }
            let usage = if is_over { None } else { usage(bench, &timed, words, &ledgers) };
            if let Some(usage) = usage {
                eprintln!("{:.2} s", usage.used.cpu);
            }
            row.cells.push(usage);
        }
        for directory in &kept {
            let _ = fs::remove_dir_all(directory);
        }
    }
    print!("{}", text(columns, &rows));
    conclude(options, &as_json(columns, &rows), true)
}

fn record(
    bench: &Bench,
    timed: &Path,
    program: &Path,
    directory: &Path,
    classes: u64,
) -> Result<Option<Usage>, String> {
    let mut command = Command::new(&bench.lockwright);
    command.args(["run", "--keep", "--output", "/dev/null", "--ledger-dir"]).arg(directory);
    command.arg("--").arg(timed).arg(program).arg(classes.to_string());
    Usage::parse(&said(&mut command)?).map(Some)
}

/// The directory of the one run that is kept in `directory`.
fn only_run(directory: &Path) -> Result<PathBuf, String> {
    let entries = fs::read_dir(directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    let mut runs = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    runs.next().ok_or(format!("{} has no run", directory.display()))
}

/// `None`: the command was ended, or failed.
fn usage(bench: &Bench, timed: &Path, words: &[&str], ledgers: &[OsString]) -> Option<Usage> {
    let mut command = Command::new("prlimit");
    command.arg(format!("--cpu={MOST_SECONDS}")).arg(timed).arg(&bench.lockwright);
    command.args(words).args(ledgers);
    said(&mut command).ok().and_then(|text| Usage::parse(&text).ok())
}

fn text(columns: &[u64], rows: &[Row]) -> String {
    let mut out = format!("{:<20}", "classes");
    // Writing to a String cannot fail.
    for classes in columns {
        let _ = write!(out, "{classes:>22}");
    }
    out.push('\n');
    for row in rows {
        let _ = write!(out, "{:<20}", row.name);
        for cell in &row.cells {
            let cell = match cell {
                Some(usage) => {
                    format!("{:.2} s {:.0} MiB", usage.used.cpu, usage.used.kib / 1024.0)
                }
                None => "-".to_owned(),
            };
            let _ = write!(out, "{cell:>22}");
        }
        out.push('\n');
    }
    out
}

fn as_json(columns: &[u64], rows: &[Row]) -> Value {
    let cell = |cell: &Option<Usage>| {
        cell.map(|usage| json!({ "cpu_s": usage.used.cpu, "kib": usage.used.kib }))
    };
    let row = |row: &Row| json!({ "name": row.name, "cells": row.cells.iter().map(cell).collect::<Vec<_>>() });
    json!({ "machine": machine(), "classes": columns, "rows": rows.iter().map(row).collect::<Vec<_>>() })
}
