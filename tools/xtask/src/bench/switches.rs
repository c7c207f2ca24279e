//! The gain of each of the patches that made lockdep fast: the preload library as it ships against
//! builds with one of them undone (lab/unpatched/fast_path.rs), in a lock-heavy program of many
//! threads. The control is the shipped library against a copy of itself: patch 1 removed what nobody
//! called.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lockwright_measure::stats;
use serde_json::{Value, json};

use super::arm::{Bench, said};
use super::callgrind;
use super::fresh_folder::fresh_folder;
use super::workload::{RUN_MS, SMOKE_MS};

/// A switch: what is undone.
struct Switch {
    name: &'static str,
    /// What undoes it: features of the library, between commas.
    features: &'static str,
    /// Undone, an acquisition and its release have more instructions. What patch 5 moves is as many
    /// before the unlock as after it.
    adds: bool,
}

const SWITCHES: [Switch; 6] = [
    Switch { name: "1: the control, nothing undone", features: "", adds: false },
    Switch { name: "2: check state at every acquisition", features: "unpatched-2", adds: true },
    Switch { name: "3: search the lock at every release", features: "unpatched-3", adds: true },
    Switch { name: "4: one shared counter per class", features: "unpatched-4", adds: true },
    Switch { name: "5: record releases inside the section", features: "unpatched-5", adds: false },
    Switch {
        name: "2 to 5 together",
        features: "unpatched-2,unpatched-3,unpatched-4,unpatched-5",
        adds: true,
    },
];

/// What runs: its name, the program's arguments, and acquisitions in one of its rounds.
const PROGRAMS: [(&str, &str, u32, f64); 5] = [
    ("nested, 16 threads, locks of one class", "nested", 16, 2.0),
    ("one lock, 4 threads", "shared", 4, 1.0),
    ("rwlocks of one class to read, 4 threads", "rdlock", 4, 1.0),
    ("rwlocks of one class to write, 4 threads", "wrlock", 4, 1.0),
    ("spinlocks of one class, 4 threads", "spin", 4, 1.0),
];

/// What instructions are counted of: the lock, and the program's argument.
const COUNTED: [(&str, &str); 4] = [
    ("mutex", "mutex"),
    ("rwlock, read", "rdlock"),
    ("rwlock, write", "wrlock"),
    ("spinlock", "spin"),
];

/// One switch under one program.
struct Line {
    switch: &'static str,
    program: &'static str,
    /// Acquisitions per second, in millions: as it ships, and with the patch undone.
    patched: f64,
    unpatched: f64,
    /// Time with the patch undone over time as it ships.
    ratio: stats::Estimate,
}

/// The engine's own instructions for a lock and its unlock.
struct Count {
    lock: &'static str,
    switch: &'static Switch,
    patched: f64,
    unpatched: f64,
}

/// All that was measured.
pub struct Switches {
    lines: Vec<Line>,
    counts: Result<Vec<Count>, String>,
    rounds: usize,
}

/// Builds the libraries and measures.
pub fn measure(bench: &Bench, rounds: usize) -> Result<Switches, String> {
    let program = bench.build("locks", &[])?;
    let patched = library(bench, "patched", "")?;
    let mut lines = Vec::new();
    let mut libraries = Vec::new();
    for (i, switch) in SWITCHES.iter().enumerate() {
        let unpatched = library(bench, &format!("unpatched-{}", i + 1), switch.features)?;
        libraries.push((switch, unpatched));
    }
    for (name, what, threads, acquisitions) in PROGRAMS {
        for (switch, unpatched) in &libraries {
            eprintln!("switch {}; {name} ...", switch.name);
            let run = |library: &Path| -> Result<f64, String> {
                let milliseconds = if bench.smoke { SMOKE_MS } else { RUN_MS };
                let mut command = watched(bench, &program, library)?;
                command.args([what, &threads.to_string(), milliseconds]);
                let text = said(&mut command)?;
                text.trim().parse().map_err(|_| format!("not a number: {text}"))
            };
            let (mut with, mut without) = (Vec::new(), Vec::new());
            for round in 0..rounds {
                // The arms alternate in going first, as in all comparisons.
                for first in [round % 2 == 0, round % 2 != 0] {
                    if first {
                        with.push(run(&patched)?);
                    } else {
                        without.push(run(unpatched)?);
                    }
                }
            }
            let ratios: Vec<f64> = with.iter().zip(&without).map(|(p, u)| u / p).collect();
            let millions = |times: &[f64]| acquisitions * 1e3 / stats::median(times);
            lines.push(Line {
                switch: switch.name,
                program: name,
                patched: millions(&with),
                unpatched: millions(&without),
                ratio: stats::estimate(&ratios),
            });
        }
    }
    eprintln!("switches, instructions ...");
    let counts = count(bench, &program, &patched, &libraries);
    Ok(Switches { lines, counts, rounds })
}

fn count(
    bench: &Bench,
    program: &Path,
    patched: &Path,
    libraries: &[(&'static Switch, PathBuf)],
) -> Result<Vec<Count>, String> {
    let mut counts = Vec::new();
    for (lock, what) in COUNTED {
        let start = |valgrind: &Path| Ok(Command::new(valgrind));
        let native = callgrind::per_round(bench, program, what, &start)?;
        let own = |library: &Path| -> Result<f64, String> {
            let start = |valgrind: &Path| watched(bench, valgrind, library);
            Ok(callgrind::per_round(bench, program, what, &start)? - native)
        };
        let patched = own(patched)?;
        for (switch, library) in libraries {
            counts.push(Count { lock, switch, patched, unpatched: own(library)? });
        }
    }
    Ok(counts)
}

/// The library built with `features`, in a place of its own.
fn library(bench: &Bench, name: &str, features: &str) -> Result<PathBuf, String> {
    let built = crate::builds::preload_build(features, bench.smoke)?;
    let library = bench.work.join(format!("{name}.so"));
    fs::copy(&built, &library).map_err(|e| format!("{}: {e}", built.display()))?;
    Ok(library)
}

/// A command whose program is watched by that very library: as the tool starts it, but without the
/// tool, which carries but one.
fn watched(bench: &Bench, program: &Path, library: &Path) -> Result<Command, String> {
    let ledgers = fresh_folder(bench.work.join("switch-ledgers"))?;
    let mut command = Command::new(program);
    command.env("LD_PRELOAD", library);
    command.env("LOCKWRIGHT_DIR", &ledgers).env("LOCKWRIGHT_ENGINES", "lockdep");
    Ok(command)
}

impl Switches {
    /// Holds the counts to what the switches are for: where one undoes what saves instructions,
    /// there are more of them.
    ///
    /// # Errors
    /// A switch that changes nothing for some lock.
    pub fn judge(&self) -> Result<(), String> {
        let has_none = |count: &&Count| count.switch.adds && count.unpatched < count.patched + 0.5;
        match self.counts.iter().flatten().find(has_none) {
            None => Ok(()),
            Some(count) => Err(format!(
                "\"{}\" adds no instructions to a {}: {:.1}, and {:.1} as it ships; see \
                 lab/unpatched/fast_path.rs",
                count.switch.name, count.lock, count.unpatched, count.patched
            )),
        }
    }

    /// The table.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "\n{:<40} {:>12} {:>12}  {:>6}  {:<17}",
            "lockdep's patches undone", "patched", "undone", "ratio", "interval"
        );
        let mut program = "";
        for line in &self.lines {
            if program != line.program {
                program = line.program;
                let _ = writeln!(out, "{program}, million acquisitions a second:");
            }
            let _ = writeln!(
                out,
                "  {:<38} {:>12.2} {:>12.2}  {:>6.3}  {:.3} to {:.3}",
                line.switch,
                line.patched,
                line.unpatched,
                line.ratio.median,
                line.ratio.low,
                line.ratio.high
            );
        }
        match &self.counts {
            Ok(counts) => {
                let _ = writeln!(
                    out,
                    "the engine's instructions for a lock and its unlock (callgrind):"
                );
                let mut lock = "";
                for count in counts {
                    if lock != count.lock {
                        lock = count.lock;
                        let _ = writeln!(out, " {lock}:");
                    }
                    let more = count.unpatched - count.patched;
                    let _ = writeln!(
                        out,
                        "  {:<38} {:>12.1} {:>12.1}  {more:>+6.1}",
                        count.switch.name, count.patched, count.unpatched
                    );
                }
            }
            Err(why) => {
                let _ = writeln!(out, "instructions were not counted: {}", why.trim());
            }
        }
        let _ = writeln!(
            out,
            "{} pairs of runs each, interleaved; a ratio above 1 is what the patch is worth here;\n\
             the control says how far from 1 this machine strays by itself.",
            self.rounds
        );
        out
    }

    /// The same for machines.
    pub fn json(&self) -> Value {
        let line = |l: &Line| {
            json!({
                "switch": l.switch, "program": l.program, "rounds": self.rounds,
                "patched_per_s": l.patched * 1e6, "undone_per_s": l.unpatched * 1e6,
                "ratio": l.ratio.median, "low": l.ratio.low, "high": l.ratio.high,
                "confidence": l.ratio.confidence,
            })
        };
        let count = |c: &Count| {
            json!({
                "lock": c.lock, "switch": c.switch.name,
                "patched": c.patched, "undone": c.unpatched,
            })
        };
        let counts: Vec<Value> = self.counts.iter().flatten().map(count).collect();
        json!({
            "lines": self.lines.iter().map(line).collect::<Vec<_>>(),
            "instructions": counts,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(switch: &'static Switch, unpatched: f64) -> Result<(), String> {
        let count = Count { lock: "spinlock", switch, patched: 113.0, unpatched };
        Switches { lines: Vec::new(), counts: Ok(vec![count]), rounds: 1 }.judge()
    }

    #[test]
    fn a_switch_that_changes_nothing_is_found() {
        let [control, check, .., moves, _] = &SWITCHES;
        assert_eq!(judged(check, 116.0), Ok(()));
        assert!(judged(check, 113.1).unwrap_err().contains("adds no instructions to a spinlock"));
        assert_eq!((judged(control, 113.0), judged(moves, 109.0)), (Ok(()), Ok(())));
    }
}
