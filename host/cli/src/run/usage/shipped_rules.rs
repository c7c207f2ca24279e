//! `--suppressions default` with nothing to run or read prints the rules that ship with lockwright.

use std::ffi::{OsStr, OsString};
use std::io::Write;

use clap::error::ErrorKind;

use lockwright_report::verdict::{SHIPPED, SHIPPED_FILE};

/// Prints the rules and ends, if a command line that is not complete asks for them.
pub fn print_if_asked(error: &clap::Error) {
    let incomplete = error.kind() == ErrorKind::MissingRequiredArgument;
    if !(incomplete && asks(std::env::args_os())) {
        return;
    }
    // The reader closed the stream and has seen enough.
    let _ = std::io::stdout().write_all(SHIPPED.as_bytes());
    std::process::exit(0)
}

/// Whether the words of a command line, which has options alone, name the rules that ship.
fn asks(words: impl IntoIterator<Item = OsString>) -> bool {
    let words: Vec<OsString> = words.into_iter().collect();
    let joined = format!("--suppressions={SHIPPED_FILE}");
    words.iter().any(|word| *word == *joined)
        || words
            .windows(2)
            .any(|pair| pair == [OsStr::new("--suppressions"), OsStr::new(SHIPPED_FILE)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_are_asked_for_in_two_ways() {
        let asks = |line: &str| super::asks(line.split(' ').map(OsString::from));
        assert!(asks("lockwright check --suppressions default"));
        assert!(asks("lockwright report --all --suppressions=default"));
        assert!(!asks("lockwright check --suppressions ./default"));
        assert!(!asks("lockwright check --baseline default"));
    }
}
