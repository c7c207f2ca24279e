//! Exact instruction counts of the hot path, where times of this size drown in noise.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::arm::{Arm, Bench, installed, said};
use super::fresh_folder::fresh_folder;

/// Instructions of one round of one thing, in both arms.
pub struct Count {
    /// What the program does in a round.
    pub what: &'static str,
    /// Without the tool.
    pub native: f64,
    /// With it.
    pub check: f64,
}

/// Instructions per round of the lock program's kinds.
pub fn count(bench: &Bench) -> Result<Vec<Count>, String> {
    let program = bench.build("locks", &[])?;
    ["mutex", "nested", "depth3", "rdlock", "wrlock"]
        .into_iter()
        .map(|what| {
            // The tool starts valgrind, which hands the environment on to the program that it
            // simulates.
            let in_arm = |arm| {
                let start = |valgrind: &Path| Ok(bench.command(arm, valgrind));
                per_round(bench, &program, what, &start)
            };
            Ok(Count { what, native: in_arm(Arm::Native)?, check: in_arm(Arm::Check)? })
        })
        .collect()
}

/// Instructions of one round of the lock program's kind `what`, with valgrind started by `start`.
pub fn per_round(
    bench: &Bench,
    program: &Path,
    what: &str,
    start: &dyn Fn(&Path) -> Result<Command, String>,
) -> Result<f64, String> {
    let valgrind = installed("valgrind", "valgrind")?;
    // The difference between two lengths has neither start nor end in it.
    let (short, long) = (1_000, 11_000);
    let a = instructions(bench, start(&valgrind)?, program, what, short)?;
    let b = instructions(bench, start(&valgrind)?, program, what, long)?;
    Ok((b as f64 - a as f64) / f64::from(long - short))
}

fn instructions(
    bench: &Bench,
    mut command: Command,
    program: &Path,
    what: &str,
    rounds: u32,
) -> Result<u64, String> {
    let folder = fresh_folder(bench.work.join("callgrind"))?;
    command.args(["--tool=callgrind", "--quiet"]);
    command.arg(format!("--callgrind-out-file={}/%p", folder.display()));
    command.arg(program).args([what, "1", "0", &rounds.to_string()]);
    said(&mut command)?;
    fs::read_dir(&folder)
        .map_err(|e| e.to_string())?
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.path()).ok())
        .find_map(|profile| {
            profile.lines().find_map(|line| {
                line.strip_prefix("summary: ")
                    .or(line.strip_prefix("totals: "))?
                    .trim()
                    .parse()
                    .ok()
            })
        })
        .ok_or_else(|| "callgrind wrote no profile".to_owned())
}
