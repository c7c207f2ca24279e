//! The checks that cargo runs: clippy, and tests in several profiles.

use std::process::{Command, Stdio};

use super::failed_tests::FailedTests;
use super::{Build, Extent};
use crate::builds::{LIBRARY, LOCKS, MODELS, PRELOAD, SWAP, TESTED_APART};
use crate::workspace::{cargo, cargo_command, root};

/// Looks at all targets of the workspace, and at the libraries that are loaded into programs. The targets that are tests and
/// examples take turns with these libraries.
pub fn clippy(extent: Extent) -> Result<(), String> {
    let turn = extent.turn(2);
    let mut workspace = vec!["clippy", "--workspace", "--exclude", PRELOAD, "--exclude", SWAP];
    if turn != Some(1) {
        workspace.push("--all-targets");
    }
    let deny = ["--", "--deny", "warnings"];
    cargo(&[&workspace[..], &deny].concat())?;
    if turn == Some(0) {
        return Ok(());
    }
    for library in [PRELOAD, SWAP] {
        let checked = ["clippy", "--package", library, "--lib", "--profile", LIBRARY];
        cargo(&[&checked[..], &deny].concat())?;
    }
    Ok(())
}

/// Unit tests and tests of whole programs, except those of the locks.
pub fn tests(extent: Extent) -> Result<(), String> {
    let mut rest = vec!["test", "--workspace", "--no-fail-fast"];
    rest.extend(TESTED_APART.iter().flat_map(|package| ["--exclude", package]));
    // Programs that run end to end mostly sleep.
    let test = |arguments: &[&str]| unoptimised(extent, 3, arguments);
    test(&["test", "--package", PRELOAD, "--lib"]).and(test(&rest))
}

/// All tests of the locks.
pub fn locks(extent: Extent) -> Result<(), String> {
    tests_of_locks("dev", |arguments| unoptimised(extent, 2, arguments))
}

/// Runs so many tests at once on each CPU.
fn unoptimised(extent: Extent, at_once: usize, arguments: &[&str]) -> Result<(), String> {
    let threads = at_once * std::thread::available_parallelism().map_or(1, usize::from);
    let mut command = cargo_command();
    command.args(arguments).env("RUST_TEST_THREADS", threads.to_string());
    match extent {
        Extent::Whole => command.env("LOCKWRIGHT_WHOLE", "1"),
        Extent::Turn(turn) => command.env("LOCKWRIGHT_TURN", turn.to_string()),
    };
    tests_pass(&mut command)
}

/// Shipped code is optimised, and compilers have faults: runs some tests of code in other people's programs again.
pub fn release(extent: Extent) -> Result<(), String> {
    if !extent.has_build(Build::OptimisedTests) {
        eprintln!("not this time: this commit has another of the builds that take minutes");
        return Ok(());
    }
    let profile = "release-test";
    let mut arguments = vec!["test", "--profile", profile, "--no-fail-fast"];
    for package in ["lockwright-lab", "lockwright-engines", "lockwright-capi"] {
        arguments.extend(["--package", package]);
    }
    cargo_test(&arguments).and(tests_of_locks(profile, cargo_test))
}

/// The locks' tests, and those in their documentation.
fn tests_of_locks(
    profile: &str,
    run: impl Fn(&[&str]) -> Result<(), String>,
) -> Result<(), String> {
    let test = ["test", "--package", LOCKS, "--profile", profile];
    let programs = ["--no-fail-fast", "--lib", "--tests"];
    run(&[&test[..], &programs].concat()).and(run(&[&test[..], &["--doc"]].concat()))
}

/// In so many parts the models' mutants take turns.
const PARTS_OF_MUTANTS: usize = 12;

/// Each model is a process of its own, and so is each of its mutants. That takes minutes, so the other tests leave it
/// out.
pub fn models(extent: Extent) -> Result<(), String> {
    let mut cargo = cargo_command();
    cargo.args(["test", "--package", MODELS, "--", "--ignored", "--nocapture"]);
    if let Some(turn) = extent.turn(PARTS_OF_MUTANTS) {
        cargo.env("LOCKWRIGHT_MUTANTS_PART", format!("{turn}/{PARTS_OF_MUTANTS}"));
    }
    tests_pass(&mut cargo)
}

/// As [`cargo`], of `cargo test`.
pub fn cargo_test(arguments: &[&str]) -> Result<(), String> {
    tests_pass(cargo_command().args(arguments))
}

/// Runs a command that tests, its output where ours goes.
///
/// # Errors
/// If it fails: the command and its status in a line, and below it which tests failed and what they
/// said.
fn tests_pass(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().display().to_string();
    let error = |e| format!("{program}: {e}");
    let mut child = command.current_dir(root()).stdout(Stdio::piped()).spawn().map_err(error)?;
    let output = child.stdout.take().expect("it was piped");
    let failed = FailedTests::read(output, std::io::stdout());
    let status = child.wait().map_err(error)?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}\n{failed}")) }
}
