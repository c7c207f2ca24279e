//! The two arms of every comparison, and how a program is started in each.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// With or without the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// The program alone.
    Native,
    /// The program under `lockwright check`.
    Check,
}

/// What all measurements share.
#[derive(Debug)]
pub struct Bench {
    /// The release build of the tool.
    pub lockwright: PathBuf,
    /// Folder for programs built here, databases and ledgers.
    pub work: PathBuf,
    /// Two short rounds only: do the benchmarks still run?
    pub smoke: bool,
}

impl Bench {
    /// The command that runs `program` in an arm; its arguments are added by the caller.
    pub fn command(&self, arm: Arm, program: impl AsRef<OsStr>) -> Command {
        match arm {
            Arm::Native => Command::new(program),
            Arm::Check => {
                let mut command = Command::new(&self.lockwright);
                // The report is made after the measured time and is of no interest here; findings in the
                // programs measured are no failure of the measurement.
                command
                    .args(["check", "--exit-code", "0", "--output", "/dev/null", "--"])
                    .arg(program);
                command
            }
        }
    }

    /// Builds a C program that lies beside this file.
    pub fn build(&self, name: &str, flags: &[&str]) -> Result<PathBuf, String> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("src/bench/programs")
            .join(name)
            .with_extension("c");
        let built = self.work.join(name);
        let mut compiler = Command::new("cc");
        compiler
            .args(["-O2", "-g", "-pthread", "-Wall", "-Wextra", "-o"])
            .arg(&built)
            .arg(&source)
            .args(flags);
        let out = compiler.output().map_err(|e| format!("cc: {e}"))?;
        if out.status.success() {
            Ok(built)
        } else {
            Err(String::from_utf8_lossy(&out.stderr).into_owned())
        }
    }
}

/// Runs a command to its end and hands back its stdout and stderr, one after the other.
pub fn said(command: &mut Command) -> Result<String, String> {
    let out = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    let text =
        String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    if out.status.success() {
        Ok(text)
    } else {
        Err(format!("{command:?}: {}\n{text}", out.status))
    }
}

/// The program `name` in PATH or where servers lie.
pub fn installed(name: &str, package: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into()])
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
        .ok_or_else(|| format!("{name} is not installed (Debian package {package})"))
}
