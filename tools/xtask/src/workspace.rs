//! The workspace, and commands that are run in it.

use std::fs;
use std::path::Path;
use std::process::Command;

pub(crate) use crate::folders::{root, target_dir};
use crate::skips;

/// The text of a file.
///
/// # Errors
/// That it cannot be read: its name, and why.
pub(crate) fn read(file: impl AsRef<Path>) -> Result<String, String> {
    let file = file.as_ref();
    fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))
}

/// Runs cargo in the workspace, its output where ours goes.
pub(crate) fn cargo(arguments: &[&str]) -> Result<(), String> {
    succeeds(cargo_command().args(arguments))
}

/// The cargo that runs us, in the workspace.
pub(crate) fn cargo_command() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root()).env(skips::VARIABLE, skips::file());
    cargo
}

/// What the command prints.
pub(crate) fn output(mut command: Command) -> Result<String, String> {
    let out = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    let (stdout, stderr) =
        (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    Err(format!("{command:?}: {}\n{stdout}{stderr}", out.status))
}

/// Runs a command at the workspace's root.
pub(crate) fn succeeds(command: &mut Command) -> Result<(), String> {
    let status = command.current_dir(root()).status();
    let status = status.map_err(|e| format!("{}: {e}", command.get_program().display()))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}
