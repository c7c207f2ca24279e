//! When and how the program ended, kept next to the ledgers: a killed process cannot write it into
//! its own.

use std::io;
use std::path::{Path, PathBuf};

use crate::ledger_dir::{self, RunDir};
use lockwright_analysis::lockmeter::model::End;

/// The file's name in the run's directory.
const NAME: &str = "end.json";

/// Writes the file.
///
/// # Errors
/// If that fails.
pub fn write(end: End, dir: &RunDir) -> io::Result<()> {
    dir.write(NAME, &(serde_json::to_string(&end)? + "\n"))
}

/// The ends that are known of the runs that the user's arguments name: directories of runs, or
/// ledgers in them.
pub fn read(arguments: &[PathBuf]) -> Vec<End> {
    let dir_of = |argument: &'_ PathBuf| match argument.is_dir() {
        true => Some(argument.clone()),
        false => ledger_dir::run_of(argument).map(Path::to_owned),
    };
    let mut dirs: Vec<PathBuf> = arguments.iter().filter_map(dir_of).collect();
    dirs.sort();
    dirs.dedup();
    let read = |dir: PathBuf| serde_json::from_slice(&ledger_dir::read_own(&dir, NAME)?).ok();
    dirs.into_iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::ledger_dir::Surroundings;

    #[test]
    fn a_kept_run_knows_its_end() {
        let base = std::env::temp_dir().join(format!("lockwright-test-end-{}", std::process::id()));
        let run = RunDir::create(Some(&base), &Surroundings::current()).unwrap();
        let dir = run.path().to_owned();
        let end = End { pid: 42, at_ns: 1_000_000, status: Some(9) };
        write(end, &run).unwrap();
        assert!(write(end, &run).is_err(), "nothing that is there is written over");
        assert_eq!(read(std::slice::from_ref(&dir)), [end]);
        assert_eq!(read(&[dir.join("1.lwl"), dir.join("2.lwl")]), [end], "its ledgers, once");
        fs::write(dir.join(NAME), "{\"pid\": 42}").unwrap();
        assert_eq!(read(std::slice::from_ref(&dir)), []);
        drop(run);
        fs::remove_dir(base).unwrap();
        assert_eq!(read(&[dir]), []);
    }
}
