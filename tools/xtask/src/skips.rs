//! What was skipped: tests and checks write to one file why they cannot run here, and the summary counts them.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use crate::folders::target_dir;

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

/// What was skipped, and why.
pub struct Skips(Vec<(String, String)>);

impl Skips {
    /// Those of this run.
    pub fn read() -> Self {
        Self::parse(&fs::read_to_string(file()).unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| line.split_once(": "));
        Self(lines.map(|(what, why)| (what.to_owned(), why.to_owned())).collect())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Why the check or the test of this name was skipped, if it was.
    pub fn reason(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(what, _)| what == name);
        found.map(|(_, why)| why.as_str())
    }

    /// The reasons, with how often each holds.
    pub fn reasons(&self) -> BTreeMap<&str, usize> {
        let mut reasons = BTreeMap::new();
        self.0.iter().for_each(|(_, why)| *reasons.entry(why.as_str()).or_default() += 1);
        reasons
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skips_are_counted_by_their_reasons() {
        let text = "a::b: no Go here\nc: clang: is not installed\nd: no Go here\n";
        let skips = Skips::parse(text);
        let reasons = BTreeMap::from([("clang: is not installed", 1), ("no Go here", 2)]);
        assert_eq!((skips.count(), skips.reasons()), (3, reasons));
        assert_eq!(skips.reason("c"), Some("clang: is not installed"));
        assert_eq!(skips.reason("e"), None);
        assert_eq!(Skips::parse("").count(), 0);
    }
}
