//! What was skipped: tests and checks write to one file why they cannot run here, and the summary counts them.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use crate::workspace::target_dir;

/// Names the file to tests.
pub const VARIABLE: &str = "LOCKWRIGHT_SKIPS";

/// The file: a line for each test, `NAME: why`.
pub fn file() -> PathBuf {
    target_dir().join("skips.txt")
}

/// Forgets those of an earlier run.
pub fn forget() {
    let _ = fs::remove_file(file());
}

/// Notes that a check, or a part of it, cannot run here; says so, too.
///
/// # Errors
/// In CI: nothing may be skipped there.
pub fn skip(what: &str, why: &str) -> Result<(), String> {
    if std::env::var_os("LOCKWRIGHT_CI").is_some() {
        return Err(why.to_owned());
    }
    eprintln!("skipped: {what}: {why}");
    // Without the file the summary lacks a line that has been printed.
    if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(file()) {
        let _ = writeln!(file, "{what}: {why}");
    }
    Ok(())
}

/// How many were skipped, and the reasons with their numbers.
pub fn count() -> (usize, Vec<(String, usize)>) {
    counted(&fs::read_to_string(file()).unwrap_or_default())
}

fn counted(text: &str) -> (usize, Vec<(String, usize)>) {
    let mut reasons = BTreeMap::<String, usize>::new();
    let lines = text.lines().filter_map(|line| line.split_once(": "));
    lines.for_each(|(_, why)| *reasons.entry(why.to_owned()).or_default() += 1);
    (reasons.values().sum(), reasons.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skips_are_counted_by_their_reasons() {
        let text = "a::b: no Go here\nc: clang: is not installed\nd: no Go here\n";
        let reasons = [("clang: is not installed".to_owned(), 1), ("no Go here".to_owned(), 2)];
        assert_eq!(counted(text), (3, reasons.to_vec()));
        assert_eq!(counted(""), (0, Vec::new()));
    }
}
