//! The shape of a manual: what `--help` and the man pages say beyond options.

use std::fmt::Write;

/// The sections of one command's manual.
#[derive(Debug)]
pub struct Manual {
    /// Command lines and what they do.
    pub examples: &'static [Entry],
    /// Exit codes and their meaning.
    pub exit_status: &'static [Entry],
    /// Environment variables.
    pub environment: &'static [Entry],
    /// Files and directories.
    pub files: &'static [Entry],
}

/// A term and its explanation.
pub type Entry = (&'static str, &'static str);

impl Manual {
    /// The sections with their titles, in the order of man pages, empty ones left out.
    pub fn sections(&self) -> impl Iterator<Item = (&'static str, &'static [Entry])> {
        [
            ("EXIT STATUS", self.exit_status),
            ("ENVIRONMENT", self.environment),
            ("FILES", self.files),
            ("EXAMPLES", self.examples),
        ]
        .into_iter()
        .filter(|(_, entries)| !entries.is_empty())
    }

    /// The end of `--help`: examples first, for most readers come for those.
    pub fn help(&self) -> String {
        let mut out = String::new();
        let mut section = |title: &str, entries: &[Entry]| {
            if entries.is_empty() {
                return;
            }
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{title}:");
            for (term, text) in entries {
                let _ = writeln!(out, "  {term}\n          {text}");
            }
            out.push('\n');
        };
        section("Examples", self.examples);
        section("Exit status", self.exit_status);
        section("Environment", self.environment);
        section("Files", self.files);
        out.truncate(out.trim_end().len());
        out
    }
}

/// The exit code of a wrong command line.
pub const USAGE: Entry = ("2", "The command line was wrong.");
/// The variable that turns colours off.
pub const NO_COLOR: Entry =
    ("NO_COLOR", "If set and not empty, --color auto means never (https://no-color.org).");
