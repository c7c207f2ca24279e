//! The library behind `lockwright swap`: programs run under it with what the command sets, on every lock that there is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::tools::{Tools, compile, variable};
use crate::workspace::target_dir;

/// The programs, which print the same on every lock as on the C library's; the last one only where locks are replaced, as a
/// thread that is cancelled in the C library's takes them with it.
const PROGRAMS: &[&str] =
    &["swap_sums.c", "swap_all.c", "swap_conditions.c", "swap_rwlocks.c", "swap_cancelled.c"];
const CANCELLED: &str = PROGRAMS[PROGRAMS.len() - 1];

/// What it does with each sort of lock, and how that ends.
const SORTS: &[&str] = &["mutex", "recursive", "timed", "writer", "reader", "spin", "condition"];
const FREE: &str = ": taken 36 times, free\n";

/// The one that counts, and locks that keep nobody apart: it has to notice.
const COUNTING: &str = PROGRAMS[0];
const PLANTED: &str = "swap_no_lock.c";

/// Room for the library's counts.
const COUNTS: u64 = 4096;

/// Programs in a folder of their own.
pub struct Swapped {
    dir: PathBuf,
    library: PathBuf,
    locks: Vec<String>,
}

impl Swapped {
    /// Builds the programs. The library is built, and so is this machine's command.
    ///
    /// # Errors
    /// When that fails.
    pub fn build(tools: &Tools) -> Result<Self, String> {
        let dir = target_dir().join("aarch64-check/swap");
        fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        for source in PROGRAMS {
            compile(&tools.gcc(), &[], source, &dir.join(source))?;
        }
        compile(&tools.gcc(), &["-shared", "-fPIC"], PLANTED, &dir.join(PLANTED))?;
        let library = Tools::built("library", "liblockwright_swap.so");
        Ok(Self { dir, library, locks: locks()? })
    }

    /// Runs them on each lock as `processor`.
    ///
    /// # Errors
    /// When one does something else than on the C library's locks, no lock was replaced, or the planted fault is not noticed.
    pub fn check(&self, tools: &Tools, processor: &str) -> Result<(), String> {
        for source in PROGRAMS {
            let expected = match *source {
                CANCELLED => (Some(0), SORTS.iter().flat_map(|sort| [sort, FREE]).collect()),
                _ => self.run(tools.emulator(processor), source, &[])?,
            };
            if expected.0 != Some(0) {
                return Err(format!("{source} as {processor} without us: {expected:?}"));
            }
            for lock in &self.locks {
                let counts = self.dir.join("counts");
                let file = fs::File::create(&counts).and_then(|file| file.set_len(COUNTS));
                file.map_err(|e| format!("{}: {e}", counts.display()))?;
                let variables = [
                    variable("LD_PRELOAD", &self.library),
                    format!("LOCKWRIGHT_SWAP={lock}"),
                    variable("LOCKWRIGHT_SWAP_COUNTS", &counts),
                ];
                let swapped = self.run(tools.emulator(processor), source, &variables)?;
                if swapped != expected {
                    return Err(format!(
                        "{source} on {lock} as {processor}: {swapped:?}, expected: {expected:?}"
                    ));
                }
                // A program, and locks of some kind.
                let counted = counted(&counts)?;
                if counted[0] == 0 || counted[1..5].iter().all(|count| *count == 0) {
                    return Err(format!("{source} on {lock} as {processor}: no lock was replaced"));
                }
            }
            eprintln!("{source} on {} locks as {processor}: as expected", self.locks.len());
        }
        let planted = [variable("LD_PRELOAD", &self.dir.join(PLANTED))];
        match self.run(tools.emulator(processor), COUNTING, &planted)? {
            (Some(1), text) if text.matches("counts are lost").count() == 3 => Ok(()),
            other => Err(format!("{COUNTING} does not notice locks that are none: {other:?}")),
        }
    }

    /// How the program ends, and what it prints.
    fn run(
        &self,
        mut emulator: Command,
        program: &str,
        variables: &[String],
    ) -> Result<(Option<i32>, String), String> {
        for variable in variables {
            emulator.args(["-E", variable]);
        }
        emulator.arg(self.dir.join(program));
        let out = emulator.output().map_err(|e| format!("{emulator:?}: {e}"))?;
        Ok((out.status.code(), String::from_utf8_lossy(&out.stdout).into_owned()))
    }
}

/// The locks that the command says there are.
fn locks() -> Result<Vec<String>, String> {
    let mut list = Command::new(target_dir().join("debug/lockwright"));
    list.args(["swap", "--lock", "list"]);
    let out = list.output().map_err(|e| format!("{list:?}: {e}"))?;
    let names = names(&String::from_utf8_lossy(&out.stdout));
    match names.len() {
        0 => Err(format!("{list:?} lists no locks")),
        _ => Ok(names),
    }
}

/// The first words of a table under its heads.
fn names(table: &str) -> Vec<String> {
    let rows = table.lines().skip(1).take_while(|line| !line.is_empty());
    rows.filter_map(|row| row.split_whitespace().next()).map(str::to_owned).collect()
}

/// The library's counts.
fn counted(file: &Path) -> Result<Vec<u64>, String> {
    let bytes = fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn locks_are_listed_by_name() {
        assert_eq!(names("NAME  WHAT\nhybrid  sleeps\ntas  spins\n\nmore\n"), ["hybrid", "tas"]);
    }
}
