//! The check of the preload library built with `debug-lockdep` (docs/stats.md): its counters are
//! printed and are right, and it finds data of lockdep's own that were damaged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::builds::preload_build;
use crate::workspace::{cargo, output, root, target_dir};

/// What `tests/programs/damaged_chain.c` does, in the words of `report --stats`.
const COUNTED: &[&str] = &[
    "hardirq on events:                             1",
    "hardirq off events:                            1",
    "redundant hardirq ons:                         0",
    "redundant hardirq offs:                        1",
    "chain key checks:                           1101",
    "bad chain keys:                                0",
    "debug_locks:                                   1",
];

/// The same once it has damaged an entry.
const DAMAGED: &[&str] = &[
    "chain key checks:                           1101",
    "bad chain keys:                                1",
    "debug_locks:                                   0",
];

/// Runs the check.
///
/// # Errors
/// What is not as it should be.
pub fn run() -> Result<(), String> {
    let feature = ["--features", "debug-lockdep"];
    cargo(
        &[&["test", "--package", "lockwright-engines", "--test", "lockdep"], &feature[..]].concat(),
    )?;
    // Alone, it would be rebuilt with fewer features.
    cargo(&["build", "--package", "lockwright-cli", "--package", "xtask"])?;
    let library = preload_build("debug-lockdep", true)?;
    let work = fresh_folder(target_dir().join("debug-lockdep"))?;
    let program = work.join("damaged_chain");
    let mut compile = Command::new("cc");
    compile.args(["-O1", "-pthread", "-o"]).arg(&program);
    compile.arg(root().join("tests/programs/damaged_chain.c"));
    output(compile)?;

    let spared = watched(&work, &library, &program, "spare")?;
    let stats = listed(&spared, "--stats")?;
    has(&stats, COUNTED)?;
    let classes = listed(&spared, "--classes")?;
    has(&classes, &["OPS:       1 FD:", "OPS:     100 FD:", "OPS:    1000 FD:"])?;

    let damaged = watched(&work, &library, &program, "damage")?;
    has(&listed(&damaged, "--stats")?, DAMAGED)?;
    let report = report(&damaged, &["--exit-code", "0"])?;
    has(&report, &["lockdep found its own data inconsistent"])
}

/// The ledgers of the program's run with `argument`.
fn watched(work: &Path, library: &Path, program: &Path, argument: &str) -> Result<PathBuf, String> {
    let ledgers = fresh_folder(work.join(argument))?;
    let mut command = Command::new(program);
    command.arg(argument).env("LD_PRELOAD", library);
    command.env("LOCKWRIGHT_DIR", &ledgers).env("LOCKWRIGHT_ENGINES", "lockdep");
    let found = output(command)?;
    match found.trim() {
        "1" => Ok(ledgers),
        other => Err(format!("{}: it found {other} entries, not 1", program.display())),
    }
}

fn listed(ledgers: &Path, listing: &str) -> Result<String, String> {
    report(ledgers, &[listing])
}

fn report(ledgers: &Path, options: &[&str]) -> Result<String, String> {
    let mut command = Command::new(target_dir().join("debug/lockwright"));
    command.arg("report").args(options).arg(ledgers);
    let out = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    // Listings go to standard output, reports to the other.
    Ok([out.stdout, out.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat())
}

/// A directory with nothing in it.
fn fresh_folder(path: PathBuf) -> Result<PathBuf, String> {
    // It need not be there.
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path)
}

fn has(text: &str, lines: &[&str]) -> Result<(), String> {
    match lines.iter().find(|line| !text.contains(**line)) {
        None => Ok(()),
        Some(line) => Err(format!("no \"{line}\" in\n{text}")),
    }
}
