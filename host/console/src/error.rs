//! Errors of the tool itself, each with its remedy, written like rustc's and cargo's.

use std::fmt;

use crate::plain::line;

/// Exit codes of the tool's own failures, as env(1), timeout(1) and other programs that run
/// programs have them.
pub mod exit {
    /// The command line was wrong.
    pub const USAGE: u8 = 2;
    /// The tool itself failed.
    pub const OWN_FAILURE: u8 = 125;
    /// The program was found but cannot be run, or not be watched.
    pub const NOT_RUNNABLE: u8 = 126;
    /// The program was not found.
    pub const NOT_FOUND: u8 = 127;
    /// Default exit code where a finding of failing grade exists.
    pub const FINDING: u8 = 66;
}

/// What went wrong, why, what to do about it, and how the tool exits.
#[derive(Debug)]
pub struct Error {
    message: String,
    notes: Vec<String>,
    help: Vec<String>,
    printed: Vec<String>,
    code: u8,
}

/// A result with an [`Error`] that tells the remedy.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A failure of the tool itself.
    pub fn new(message: impl Into<String>) -> Self {
        Self::with_code(exit::OWN_FAILURE, message)
    }

    /// A failure that exits with `code`.
    pub fn with_code(code: u8, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            notes: Vec::new(),
            help: Vec::new(),
            printed: Vec::new(),
            code,
        }
    }

    /// Adds a reason.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds the last lines that a program printed.
    #[must_use]
    pub fn printed(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.printed.extend(lines);
        self
    }

    /// Adds a remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// What went wrong, and why.
    pub fn reasons(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.message).chain(&self.notes).map(String::as_str)
    }

    /// What to do about it.
    pub fn remedies(&self) -> impl Iterator<Item = &str> {
        self.help.iter().map(String::as_str)
    }

    /// The exit code of a tool that stops because of it.
    pub fn code(&self) -> u8 {
        self.code
    }

    /// The whole text, with final newline.
    pub fn render(&self, severity: Severity, colour: bool) -> String {
        use fmt::Write;
        let (on, off) = if colour { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
        let mut out = severity.line(&line(&self.message), colour);
        for note in &self.notes {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "  {on}note{off}: {}", line(note));
        }
        if !self.printed.is_empty() {
            let _ = writeln!(out, "  {on}note{off}: the last that it printed:");
        }
        for printed in &self.printed {
            let _ = writeln!(out, "        {}", line(printed));
        }
        for help in &self.help {
            let _ = writeln!(out, "  {on}help{off}: {}", line(help));
        }
        out
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(Severity::Error, false).trim_end())
    }
}

impl std::error::Error for Error {}

/// How a message of the tool begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The tool cannot do what was asked.
    Error,
    /// It can, but something is missing.
    Warning,
    /// Nothing is wrong.
    Note,
}

impl Severity {
    /// `message` as one line of this severity.
    pub fn line(self, message: &str, colour: bool) -> String {
        let (word, on) = match self {
            Self::Error => ("error", "\x1b[1;31m"),
            Self::Warning => ("warning", "\x1b[1;33m"),
            Self::Note => ("note", "\x1b[1;32m"),
        };
        if colour {
            format!("{on}{word}\x1b[0m: {message}\n")
        } else {
            format!("{word}: {message}\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_tells_reason_and_remedy() {
        let error = Error::new("cannot do it").note("it is late").help("go to bed");
        assert_eq!(error.to_string(), "error: cannot do it\n  note: it is late\n  help: go to bed");
        assert!(error.render(Severity::Warning, true).starts_with("\x1b[1;33mwarning\x1b[0m: "));
        assert_eq!(error.code(), exit::OWN_FAILURE);
    }

    #[test]
    fn what_an_error_quotes_cannot_act_on_a_terminal_or_begin_a_line() {
        let hostile = "a\x1b[2J\n::error::b\u{9b}31m";
        let error = Error::new(hostile).note(hostile).help(hostile).printed([hostile.to_owned()]);
        let text = error.render(Severity::Error, false);
        assert_eq!(text.lines().count(), 5, "{text}");
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text}");
    }
}
