//! `cargo xtask roots`: what is shipped, in roots of other Debian suites, and so with other versions of glibc.
//!
//! The test programs of the workspace run in there as they are. They are linked with the oldest glibc, as what they test
//! is, and compile their programs with the root's own compiler.

mod commands;
mod page;
mod results;
mod root;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;

use commands::{COMMANDS, Program};
use page::Column;
use results::Results;
use root::Root;

use crate::builds::{Form, SYSROOT, TESTED_APART};
use crate::skips::skip;
use crate::test::Extent;
use crate::workspace::cargo_command;

/// The suite whose C library that is.
const OLDEST: &str = "bullseye";

/// All suites, the oldest first.
const SUITES: &[&str] = &[OLDEST, "bookworm", "trixie", "sid"];

/// Those of the short form: the oldest glibc, and one of another layout than this machine's.
const SHORT: &[&str] = &[OLDEST, "trixie"];

/// Runs the shipped command and its tests in roots of other Debian suites.
///
/// debootstrap makes the roots, as root, and they are kept in /var/cache/lockwright/roots, or in $LOCKWRIGHT_ROOTS.
#[derive(Debug, Args)]
pub struct RootsArgs {
    /// Suites; if none is named, those of the short form, or with --all each.
    #[arg(value_name = "SUITE")]
    pub only: Vec<String>,

    /// Runs all tests in all suites, not only the short form.
    #[arg(long)]
    pub all: bool,

    /// Writes docs/compatibility.md of what comes out.
    #[arg(long)]
    pub write: bool,
}

/// Runs them.
///
/// # Errors
/// When a test fails, or no root can be made.
pub fn run(args: &RootsArgs) -> Result<(), String> {
    run_part(args, Extent::Whole)
}

fn run_part(args: &RootsArgs, extent: Extent) -> Result<(), String> {
    if let Some(unknown) = args.only.iter().find(|name| !SUITES.contains(&name.as_str())) {
        return Err(format!("there is no suite {unknown:?}; there are: {}", SUITES.join(", ")));
    }
    let suites: Vec<&str> = match (args.only.is_empty(), args.all) {
        (true, true) => SUITES.to_vec(),
        (true, false) => SHORT.to_vec(),
        (false, _) => args.only.iter().map(String::as_str).collect(),
    };
    let columns = columns(&suites, args.all, extent)?;
    if args.write {
        page::write(&columns, args.all)?;
    }
    let failed: Vec<String> = columns.iter().flat_map(Column::failed).collect();
    match failed.len() {
        0 => Ok(()),
        n => Err(format!("{n} tests fail in roots\n{}", failed.join("\n"))),
    }
}

/// The check: the short form, in which the suites take turns, and what the tests repeat. Where no root can be made it is skipped, but not in CI.
///
/// # Errors
/// When a test fails.
pub fn check(extent: Extent) -> Result<(), String> {
    if let Err(why) = Root::make(OLDEST) {
        if std::env::var_os("LOCKWRIGHT_CI").is_none() {
            return skip("roots", &why);
        }
        eprintln!("note: {why}");
    }
    let only = match extent.turn(SHORT.len()) {
        Some(turn) => vec![SHORT[turn].to_owned()],
        None => Vec::new(),
    };
    run_part(&RootsArgs { only, all: false, write: false }, extent)
}

/// The sysroot that the environment names, or else the root of the oldest suite, if it is there or can be made.
///
/// # Errors
/// Why there is none.
pub fn sysroot() -> Result<PathBuf, String> {
    match std::env::var_os(SYSROOT).filter(|dir| !dir.is_empty()) {
        Some(dir) => Ok(dir.into()),
        None => Root::make(OLDEST).map(|root| root.dir),
    }
}

/// Runs the tests in each of the suites. One whose root cannot be made, as its mirror is away, is left out, and that is
/// said.
fn columns(suites: &[&str], all: bool, extent: Extent) -> Result<Vec<Column>, String> {
    let mut roots = Vec::new();
    for suite in suites {
        match Root::make(suite) {
            Ok(root) => roots.push(root),
            Err(why) => eprintln!("left out: {suite}: {why}"),
        }
    }
    if roots.is_empty() {
        return Err("no root could be made".to_owned());
    }
    let shipped = Form::Shipped.command(Some(&sysroot()?))?;
    let tests = test_programs()?;
    let mut columns = Vec::new();
    for root in roots {
        eprintln!("\n== {root}");
        let demo = demo(&root, &shipped)?;
        let mut rows = vec![demo];
        for command in COMMANDS.iter().skip(1) {
            let mut results = Results::default();
            for (program, only) in command.tests(all) {
                let test = match program {
                    Program::Conformance => &tests.conformance,
                    Program::EndToEnd => &tests.end_to_end,
                };
                let mut run = root.enter(&shipped, test);
                run.args(*only).args(commands::left_out(&root.suite));
                if let Extent::Turn(turn) = extent {
                    run.env("LOCKWRIGHT_TURN", turn.to_string());
                }
                results.add(Results::of(run)?);
            }
            eprintln!("{:<20} {}", command.name, results.short());
            rows.push(results);
        }
        columns.push(Column { root, rows });
    }
    Ok(columns)
}

/// `lockwright demo` in a root: the first row.
fn demo(root: &Root, shipped: &Path) -> Result<Results, String> {
    let mut demo = root.enter(shipped, shipped);
    demo.arg("demo").stdin(Stdio::null());
    let out = demo.output().map_err(|e| format!("{demo:?}: {e}"))?;
    let report = String::from_utf8_lossy(&out.stderr);
    let finds = report.contains("error[circular-dependency]: `accounts_lock` and `journal_lock`");
    if !finds {
        eprintln!("{report}");
    }
    let results = Results::of_one("demo", finds);
    eprintln!("{:<20} {}", COMMANDS[0].name, results.short());
    Ok(results)
}

/// The test programs that run in roots.
struct TestPrograms {
    conformance: PathBuf,
    end_to_end: PathBuf,
}

/// Builds them, with what `cargo test` of the workspace has built where that has the same sysroot.
fn test_programs() -> Result<TestPrograms, String> {
    let mut cargo = cargo_command();
    cargo.args(["test", "--no-run", "--message-format=json-render-diagnostics", "--workspace"]);
    cargo.args(TESTED_APART.iter().flat_map(|package| ["--exclude", package]));
    cargo.args(["--test", "conformance", "--test", "e2e"]).stderr(Stdio::inherit());
    cargo.env(SYSROOT, sysroot()?);
    let built = messages(cargo)?;
    let program = |name: &str| {
        let messages = built.lines().filter_map(|line| serde_json::from_str(line).ok());
        let mut programs = messages.filter_map(|message: serde_json::Value| {
            let is_it = message["target"]["name"] == name && message["profile"]["test"] == true;
            is_it.then(|| message["executable"].as_str().map(PathBuf::from)).flatten()
        });
        programs.next().ok_or_else(|| format!("cargo has built no {name}"))
    };
    Ok(TestPrograms { conformance: program("conformance")?, end_to_end: program("e2e")? })
}

/// What it prints, with stderr where ours goes.
fn messages(mut command: Command) -> Result<String, String> {
    let child = command.stdout(Stdio::piped()).spawn().map_err(|e| format!("{command:?}: {e}"))?;
    let out = child.wait_with_output().map_err(|e| format!("{command:?}: {e}"))?;
    match out.status.success() {
        true => Ok(String::from_utf8_lossy(&out.stdout).into_owned()),
        false => Err(format!("{command:?}: {}", out.status)),
    }
}
