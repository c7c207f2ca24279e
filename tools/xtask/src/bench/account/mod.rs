//! `cargo xtask bench account`: where the cost of a new lock, a short thread or a child goes, in counts that add up.
//!
//! Instructions are callgrind's, by source file; system calls strace's; page faults the kernel's. None depends on how busy
//! the machine is. Two runs, of so many births and of twice as many, differ by what births add.

mod counts;
mod inlined;
mod parts;
mod profile;

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use serde_json::{Value, json};

use self::counts::{Counts, of_each, system_calls};
use self::profile::Cost;
use super::arm::{Bench, installed, interpreter, said};
use super::comparison::{BenchOptions, conclude, machine};
use super::fresh_folder::fresh_folder;
use super::pages::with_figures;
use crate::builds::preload_build_with_lines;
use crate::workspace::root;

/// The page.
const PAGE: &str = "docs/bench/account.md";

/// Options of the account.
#[derive(Debug, Args)]
pub struct AccountOptions {
    /// Options that other benchmarks have, too. There are no rounds: counts are the same each time.
    #[command(flatten)]
    pub common: BenchOptions,

    /// Write docs/bench/account.md instead of standard output.
    #[arg(long, conflicts_with_all = ["smoke", "only"])]
    pub write: bool,
}

impl AccountOptions {
    /// `--smoke` and nothing else.
    pub fn smoke() -> Self {
        Self { common: BenchOptions::smoke(), write: false }
    }
}

/// How a program runs, and the engines in it.
const ARMS: [(&str, Option<&str>); 4] = [
    ("native", None),
    ("check", Some("lockdep,debugobjects")),
    ("meter", Some("lockmeter")),
    ("run", Some("lockdep,debugobjects,lockmeter")),
];

/// What is born: a name, the program, the word for it, and how many in the shorter run: a multiple of ten.
const ROWS: [(&str, Program, &str, u64); 5] = [
    ("a mutex that nobody initialises, taken once", Program::C, "fresh", 2_000),
    ("pthread_mutex_init and destroy", Program::C, "init", 2_000),
    ("a thread that takes one mutex, joined", Program::C, "thread", 200),
    ("a forked child that takes one mutex", Program::C, "fork", 20),
    ("CPython, a lock made for one wait", Program::Python, "waits", 500),
];

/// Both programs do a tenth as many before those that they are asked for.
const BIRTHS_OF_ONE: f64 = 1.1;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Program {
    C,
    Python,
}

/// What one birth takes in one arm.
struct Account {
    /// By part.
    instructions: Counts,
    calls: Counts,
    faults: f64,
}

struct Row {
    name: &'static str,
    arms: Vec<Account>,
}

/// What all counting shares.
struct Counting<'a> {
    bench: &'a Bench,
    valgrind: PathBuf,
    strace: PathBuf,
    /// The tool's library, with the lines of its sources.
    library: PathBuf,
    /// What was found of the addresses of inlined code in it.
    inlined: RefCell<HashMap<u64, &'static str>>,
}

/// Counts all.
///
/// # Errors
/// If a program does not run to its end, counts do not add up, or the page cannot be written.
pub fn run(bench: &'static Bench, options: &AccountOptions) -> Result<(), String> {
    let common = &options.common;
    let (valgrind, strace) =
        match (installed("valgrind", "valgrind"), installed("strace", "strace")) {
            (Ok(valgrind), Ok(strace)) => (valgrind, strace),
            (Err(why), _) | (_, Err(why)) => {
                println!("skipped: {why}");
                return conclude(common, &json!({ "machine": machine() }), false);
            }
        };
    let library = preload_build_with_lines(common.smoke)?;
    let counting = Counting { bench, valgrind, strace, library, inlined: RefCell::default() };
    let c = vec![bench.build("births", &[])?.into_os_string()];
    let script = root().join("tools/xtask/src/bench/programs/births.py").into_os_string();
    let python = vec![interpreter()?, script];
    let wanted = |name: &str| common.only.as_ref().is_none_or(|text| name.contains(text.as_str()));
    // One of each program shows whether it still works.
    let due = |word: &str| !common.smoke || ["fresh", "waits"].contains(&word);
    let mut rows = Vec::new();
    for (name, program, word, births) in ROWS.into_iter().filter(|row| wanted(row.0) && due(row.2))
    {
        eprintln!("{name} ...");
        let births = if common.smoke { births / 10 } else { births };
        let mut words = if program == Program::C { c.clone() } else { python.clone() };
        words.push(word.into());
        let arms =
            ARMS.into_iter().filter(|arm| !common.smoke || ["native", "check"].contains(&arm.0));
        let arms = arms.map(|(_, engines)| counting.account(&words, engines, births));
        rows.push(Row { name, arms: arms.collect::<Result<_, _>>()? });
    }
    let text = text(&rows);
    match options.write {
        true => fs::write(root().join(PAGE), with_figures(PAGE, &text)?)
            .map_err(|e| format!("{PAGE}: {e}"))?,
        false => print!("{text}"),
    }
    conclude(common, &as_json(&rows), true)
}

impl Counting<'_> {
    /// What a birth takes with these engines, or natively.
    fn account(
        &self,
        words: &[OsString],
        engines: Option<&str>,
        births: u64,
    ) -> Result<Account, String> {
        let twice = |count: &dyn Fn(u64) -> Result<Counts, String>| {
            Ok::<_, String>(of_each(
                &count(births)?,
                &count(2 * births)?,
                births as f64 * BIRTHS_OF_ONE,
            ))
        };
        Ok(Account {
            instructions: twice(&|births| self.instructions(words, engines, births))?,
            calls: twice(&|births| self.calls(words, engines, births))?,
            faults: self.faults(words, engines, births)?,
        })
    }

    /// The variables that the command sets for the library.
    fn environment(&self, engines: Option<&str>) -> Result<Vec<(&'static str, OsString)>, String> {
        let Some(engines) = engines else { return Ok(Vec::new()) };
        let ledgers = fresh_folder(self.bench.work.join("ledgers"))?;
        Ok(vec![
            ("LD_PRELOAD", self.library.clone().into()),
            ("LOCKWRIGHT_DIR", ledgers.into()),
            ("LOCKWRIGHT_ENGINES", engines.into()),
            ("LOCKWRIGHT_HOLD", "exact".into()),
        ])
    }

    /// Instructions by part, of all processes.
    fn instructions(
        &self,
        words: &[OsString],
        engines: Option<&str>,
        births: u64,
    ) -> Result<Counts, String> {
        let folder = fresh_folder(self.bench.work.join("profiles"))?;
        let mut command = Command::new(&self.valgrind);
        command.args(["--tool=callgrind", "--quiet", "--dump-instr=yes", "--compress-pos=no"]);
        // A child begins with what its parent has counted, which this sets back.
        command.arg("--dump-before=forked");
        command.arg(format!("--callgrind-out-file={}/%p", folder.display()));
        command.args(words).arg(births.to_string()).envs(self.environment(engines)?);
        said(&mut command)?;
        let mut counts = Counts::new();
        let mut costs = Vec::new();
        for profile in texts(&folder)? {
            costs.extend(profile::parse(&profile)?);
        }
        self.find_inlined(&costs)?;
        for cost in &costs {
            *counts.entry(self.part(cost).to_owned()).or_default() += cost.count as f64;
        }
        if counts.is_empty() { Err("callgrind wrote no profile".to_owned()) } else { Ok(counts) }
    }

    fn object_part(&self, object: &str) -> Option<&'static str> {
        let library = self.library.file_name().and_then(|name| name.to_str());
        parts::of_object(object, library.unwrap_or_default())
    }

    /// The part that a cost belongs to.
    fn part(&self, cost: &Cost) -> &'static str {
        let known = self.object_part(&cost.object).or_else(|| parts::of_file(&cost.file));
        known
            .or_else(|| self.inlined.borrow().get(&cost.address).copied())
            .unwrap_or_else(|| parts::of_code([].into_iter(), &cost.function))
    }

    /// Finds out the parts of those costs of the library whose innermost source file is nobody's.
    fn find_inlined(&self, costs: &[Cost]) -> Result<(), String> {
        let mut known = self.inlined.borrow_mut();
        let unknown: HashMap<u64, &Cost> = costs
            .iter()
            .filter(|cost| {
                self.object_part(&cost.object).is_none()
                    && parts::of_file(&cost.file).is_none()
                    && !known.contains_key(&cost.address)
            })
            .map(|cost| (cost.address, cost))
            .collect();
        let addresses: Vec<u64> = unknown.keys().copied().collect();
        for (address, files) in inlined::files(&self.library, &addresses)? {
            let files = files.iter().map(String::as_str);
            known.insert(address, parts::of_code(files, &unknown[&address].function));
        }
        Ok(())
    }

    /// System calls by name, of all processes.
    fn calls(
        &self,
        words: &[OsString],
        engines: Option<&str>,
        births: u64,
    ) -> Result<Counts, String> {
        let table = self.bench.work.join("calls");
        let mut command = Command::new(&self.strace);
        command.args(["-f", "-c", "-o"]).arg(&table);
        for (name, value) in self.environment(engines)? {
            let mut pair = OsString::from(name);
            pair.push("=");
            pair.push(value);
            command.arg("-E").arg(pair);
        }
        said(command.args(words).arg(births.to_string()))?;
        system_calls(&crate::workspace::read(&table)?)
    }

    /// Page faults, of all processes; the program counts them itself.
    fn faults(
        &self,
        words: &[OsString],
        engines: Option<&str>,
        births: u64,
    ) -> Result<f64, String> {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg(births.to_string()).envs(self.environment(engines)?);
        let text = said(&mut command)?;
        let faults = text.split_whitespace().nth(2).and_then(|number| number.parse().ok());
        faults.ok_or(format!("not three numbers: {text}"))
    }
}

/// The texts of all files in a folder.
fn texts(folder: &Path) -> Result<Vec<String>, String> {
    let files = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    files.flatten().map(|entry| crate::workspace::read(entry.path())).collect()
}

/// Less than this is not shown: it is what two runs differ by, such as the way through a table.
const LEAST: f64 = 0.05;

fn text(rows: &[Row]) -> String {
    let mut out = String::new();
    for row in rows {
        if !out.is_empty() {
            out.push('\n');
        }
        let names = ARMS.map(|(name, _)| name.to_owned());
        line(&mut out, row.name, &names[..row.arms.len()]);
        let figures = |of: &dyn Fn(&Account) -> f64| row.arms.iter().map(of).collect::<Vec<_>>();
        let of = |counts: &Counts, name: &str| counts.get(name).copied().unwrap_or_default();
        for part in parts::names() {
            shown(&mut out, &format!("  {part}"), &figures(&|arm| of(&arm.instructions, part)));
        }
        counted(&mut out, "instructions", &figures(&|arm| arm.instructions.values().sum()));
        let mut calls: Vec<_> = row.arms.iter().flat_map(|arm| arm.calls.keys()).collect();
        calls.sort_unstable();
        calls.dedup();
        for name in calls {
            shown(&mut out, &format!("  {name}"), &figures(&|arm| of(&arm.calls, name)));
        }
        counted(&mut out, "system calls", &figures(&|arm| arm.calls.values().sum()));
        counted(&mut out, "page faults", &figures(&|arm| arm.faults));
    }
    out
}

/// A line of numbers, unless all are nothing.
fn shown(out: &mut String, name: &str, counts: &[f64]) {
    if counts.iter().any(|count| count.abs() >= LEAST) {
        counted(out, name, counts);
    }
}

fn counted(out: &mut String, name: &str, counts: &[f64]) {
    let cells: Vec<_> = counts.iter().map(|count| format!("{:.1}", count + 0.0)).collect();
    line(out, name, &cells);
}

fn line(out: &mut String, name: &str, cells: &[String]) {
    // Writing to a String cannot fail, here and below.
    let _ = write!(out, "{name:<46}");
    for cell in cells {
        let _ = write!(out, "{cell:>12}");
    }
    out.push('\n');
}

fn as_json(rows: &[Row]) -> Value {
    let arm = |((name, _), arm): (&(&str, Option<&str>), &Account)| json!({ "arm": name, "instructions": arm.instructions, "system_calls": arm.calls, "page_faults": arm.faults });
    let row = |row: &Row| {
        let arms: Vec<_> = ARMS.iter().zip(&row.arms).map(arm).collect();
        json!({ "name": row.name, "arms": arms })
    };
    json!({ "machine": machine(), "rows": rows.iter().map(row).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_table_are_its_sum() {
        let counts = |all: &[(&str, f64)]| -> Counts {
            all.iter().map(|&(name, count)| (name.to_owned(), count)).collect()
        };
        let account = |part: f64| Account {
            instructions: counts(&[
                (parts::C_LIBRARY, 40.25),
                ("debugobjects", part),
                ("ledger", 0.0),
            ]),
            calls: counts(&[("futex", 0.5)]),
            faults: 0.0,
        };
        let text = text(&[Row { name: "a lock", arms: vec![account(0.0), account(60.5)] }]);
        let figures = |name: &str| -> Vec<f64> {
            let line = text.lines().find(|line| line.trim_start().starts_with(name)).expect(name);
            line.rsplit("  ").filter_map(|word| word.trim().parse().ok()).collect()
        };
        assert_eq!(figures("debugobjects"), [60.5, 0.0]);
        assert_eq!(figures("instructions"), [100.8, 40.2]);
        assert_eq!(figures("system calls"), [0.5, 0.5]);
        assert!(!text.contains("ledger") && !text.contains("lockmeter"), "{text}");
    }
}
