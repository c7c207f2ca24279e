//! Instructions of a lock and its unlock, counted by callgrind: exact, where times drown in noise.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::Options;
use super::kernels::Kernel;
use super::programs::{self, Ledgers, number};
use crate::bench::Section;

/// The program that locks and unlocks.
const PROGRAM: &str = "locks";

/// What it does in a round, and how many pairs of lock and unlock that are.
pub const ROUNDS: [(&str, f64); 2] = [("mutex", 1.0), ("nested", 2.0)];

/// What a library adds.
pub struct Count {
    /// The library's name in the page.
    pub name: &'static str,
    /// Instructions that a pair of lock and unlock takes more than natively: by [`ROUNDS`].
    pub pairs: [f64; ROUNDS.len()],
}

/// Counts of all those libraries that are there.
///
/// # Errors
/// Why nothing could be counted.
pub fn count(options: &Options, kernels: &[&'static Kernel]) -> Result<Vec<Count>, String> {
    let program = options.parts.find(PROGRAM)?;
    programs::run(Command::new("valgrind").arg("--version"))
        .map_err(|_| "valgrind is not installed (Debian package valgrind)".to_owned())?;
    let native = pairs(&program, None)?;
    let mut counts = Vec::new();
    for kernel in kernels {
        let Some(part) = kernel.library else { continue };
        if let Ok(library) = options.parts.find(part) {
            let watched = pairs(&program, Some(&library))?;
            let mut more = [0.0; ROUNDS.len()];
            more.iter_mut().zip(watched).zip(native).for_each(|((m, w), n)| *m = w - n);
            counts.push(Count { name: kernel.name, pairs: more });
        }
    }
    Ok(counts)
}

fn pairs(program: &Path, library: Option<&Path>) -> Result<[f64; ROUNDS.len()], String> {
    // The difference of two lengths has neither start nor end in it.
    const LENGTHS: [u32; 2] = [1_000, 11_000];
    let mut pairs = [0.0; ROUNDS.len()];
    for (pairs, (what, of_round)) in pairs.iter_mut().zip(ROUNDS) {
        let [short, long] = LENGTHS.map(|rounds| instructions(program, library, what, rounds));
        *pairs = (long? - short?) / f64::from(LENGTHS[1] - LENGTHS[0]) / of_round;
    }
    Ok(pairs)
}

fn instructions(
    program: &Path,
    library: Option<&Path>,
    what: &str,
    rounds: u32,
) -> Result<f64, String> {
    let ledgers = Ledgers::new()?;
    let profile = ledgers.path().join("callgrind.out");
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--quiet"]);
    command.arg(format!("--callgrind-out-file={}", profile.display()));
    command.arg(program).args([what, "1", "0", &rounds.to_string()]);
    if let Some(library) = library {
        ledgers.watch(&mut command, library, "lockdep");
    }
    programs::run(&mut command)?;
    let counted =
        std::fs::read_to_string(&profile).map_err(|e| format!("{}: {e}", profile.display()))?;
    number(&counted, "summary").or_else(|_| number(&counted, "totals"))
}

/// The counts as a table.
pub fn section(counts: &Result<Vec<Count>, String>) -> Section {
    let note = match counts {
        Ok(_) => "By callgrind, one thread; the cost of cache lines that move between CPUs is not included.".to_owned(),
        Err(why) => format!("Nothing was counted: {why}."),
    };
    let counts = counts.as_deref().unwrap_or_default();
    let row = |count: &Count| {
        let pairs = count.pairs.iter().map(|pair| format!("{pair:+.1}"));
        std::iter::once(count.name.to_owned()).chain(pairs).collect()
    };
    Section {
        title: "Instructions that lockdep adds to a lock and its unlock".to_owned(),
        columns: vec!["library", "a mutex", "one of two nested"],
        rows: counts.iter().map(row).collect(),
        notes: vec![note],
        json: json!(
            counts
                .iter()
                .map(|c| json!({ "library": c.name, "pairs": c.pairs }))
                .collect::<Vec<_>>()
        ),
    }
}
