//! What the doctor found.

use std::path::{Path, PathBuf};

use serde::Serialize;

use lockwright_console::error::{Error, exit};

/// How much of a program's locks can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All that is known of.
    Whole,
    /// Some.
    Part,
    /// None.
    None,
}

impl Verdict {
    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Whole => 0,
            Self::Part => 1,
            Self::None => exit::NOT_RUNNABLE,
        }
    }
}

/// What a finding means, the most serious first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Nothing can be watched.
    Blocks,
    /// Some locks, or something about locks, cannot be seen.
    Hides,
    /// All is seen, but there is something to know.
    Note,
}

/// One thing to know, with its remedy.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Its name in JSON.
    pub id: &'static str,
    /// What it means.
    pub effect: Effect,
    /// What it is: a sentence without its full stop.
    pub what: String,
    /// Files that it was found in, where they are not the program itself.
    pub files: Vec<String>,
    /// What to do, likewise; the first is the best.
    pub help: Vec<String>,
}

impl Finding {
    /// Without files or remedies.
    pub fn new(id: &'static str, effect: Effect, what: impl Into<String>) -> Self {
        Self { id, effect, what: what.into(), files: Vec::new(), help: Vec::new() }
    }

    /// Adds a remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// Adds to an error what this is and what to do about it: it is the cause.
    pub fn explain(&self, error: Error) -> Error {
        self.help.iter().fold(error.note(&self.what), Error::help)
    }

    /// Adds a file.
    #[must_use]
    pub fn file(mut self, file: &Path) -> Self {
        self.files.push(file.display().to_string());
        self
    }
}

/// The doctor's findings about a program.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// As the user named it.
    pub name: String,
    /// The executable.
    pub file: PathBuf,
    /// Scripts on the way there.
    pub scripts: Vec<PathBuf>,
    /// Libraries looked into, those of the system included.
    pub libraries: usize,
    /// Where a process was asked about.
    pub process: Option<Process>,
    /// What there is to know, in any order.
    pub findings: Vec<Finding>,
}

/// A process that runs.
#[derive(Clone, Debug, Serialize)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// It is watched, and writes to this ledger.
    pub ledger: Option<String>,
    /// Its command line.
    pub command: Vec<String>,
}

impl Diagnosis {
    /// What all findings come to.
    pub fn verdict(&self) -> Verdict {
        match self.findings.iter().map(|finding| finding.effect).min() {
            Some(Effect::Blocks) => Verdict::None,
            Some(Effect::Hides) => Verdict::Part,
            Some(Effect::Note) | None => Verdict::Whole,
        }
    }
}
