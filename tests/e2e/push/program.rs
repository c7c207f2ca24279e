//! `pushed.c` under the tool, with `--push`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::server::{Sums, reported};
use crate::harness::{Run, Running, Scratch, program, run, spawn, tool};

/// The program while it runs.
pub struct Pushed {
    pub scratch: Scratch,
    pub running: Running,
}

/// How it ended.
pub struct Ended {
    pub scratch: Scratch,
    pub run: Run,
}

/// A command that pushes to `url` often, with its ledgers below `scratch`.
pub fn meter(scratch: &Scratch, url: &str, options: &[&str]) -> Command {
    pushing("meter", scratch, url, options)
}

/// As [`meter`], by this command.
pub fn pushing(name: &str, scratch: &Scratch, url: &str, options: &[&str]) -> Command {
    let mut command = tool();
    command.args([name, "--push", url, "--push-interval", "100ms", "--ledger-dir"]);
    command.arg(scratch.join("ledgers")).arg("--json").arg(scratch.join("report.json"));
    command.args(options);
    command
}

impl Pushed {
    /// Starts it.
    pub fn to(url: &str, options: &[&str]) -> Self {
        Self::under("meter", url, options)
    }

    /// Starts it under this command.
    pub fn under(name: &str, url: &str, options: &[&str]) -> Self {
        let scratch = Scratch::new();
        let command = pushing(name, &scratch, url, options);
        Self::by(command, scratch, &program("pushed.c"))
    }

    /// Starts `program` by this command.
    pub fn by(mut command: Command, scratch: Scratch, program: &Path) -> Self {
        let _ = fs::remove_file(scratch.join("end"));
        command.arg("--").arg(program).arg(scratch.path());
        Self { running: spawn(command), scratch }
    }

    /// Ends the program, and waits for the tool.
    pub fn end(self) -> Ended {
        fs::write(self.scratch.join("end"), "").unwrap();
        Ended { run: self.running.wait(), scratch: self.scratch }
    }
}

impl Ended {
    /// The JSON report.
    pub fn report(&self) -> Value {
        let text = fs::read(self.scratch.join("report.json")).unwrap();
        let mut report: Value = serde_json::from_slice(&text).unwrap();
        // `run` has it as a part of its own.
        match report["meter"].take() {
            Value::Null => report,
            meter => meter,
        }
    }

    /// Its sums.
    pub fn sums(&self) -> Sums {
        let sums = reported(&self.report());
        assert!(sums.values().map(|(count, _)| count).sum::<u64>() > 3, "{sums:?}");
        sums
    }

    /// The directory of the run, if it was kept.
    pub fn kept(&self) -> Option<PathBuf> {
        kept(&self.scratch)
    }
}

/// The directory of the run that was kept last below `scratch`.
pub fn kept(scratch: &Scratch) -> Option<PathBuf> {
    let runs = fs::read_dir(scratch.join("ledgers")).ok()?;
    let runs = runs.flatten().map(|entry| entry.path());
    runs.filter(|path| path.join("push.json").exists() || path.join("pushed.json").exists()).max()
}

/// Lines of the tool about pushing.
pub fn lines(run: &Run) -> Vec<&str> {
    let about = ["cannot push", "not pushed", "pushing to", "pushed to"];
    run.stderr.lines().filter(|line| about.iter().any(|it| line.contains(it))).collect()
}

/// `lockwright push` for the run in `dir`.
pub fn send(dir: &Path, options: &[&str]) -> Run {
    let mut command = tool();
    command.arg("push").args(options).arg(dir);
    run(command)
}
