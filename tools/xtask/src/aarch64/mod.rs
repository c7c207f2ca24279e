//! `cargo xtask test aarch64`: what there is for 64-bit Arm, on this machine, by an emulator.
//!
//! Small programs run under the preload library on both machines, and the command of this one reads the ledgers of both: the
//! reports are the same. So are those of that machine's own command. Others run on each of swap's locks. The emulator runs as a processor that has each extension, and as one that has none: atomic operations
//! are single instructions there or loops. It does not reorder accesses as such a processor may, so nothing here speaks of
//! that; the models of the locks do.

mod command;
mod instructions;
mod same;
mod swap;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use same::{counts, without_places};
use swap::Swapped;
use tools::{Tools, compile, variable};

use crate::builds::preload_build;
use crate::skips::skip;
use crate::test::Extent;
use crate::workspace::{cargo, target_dir};

/// The emulator's processors.
const PROCESSORS: &[&str] = &["max", "cortex-a53"];

/// The crates whose own tests run, too.
const TESTED: &[&str] = &["lockwright", "lockwright-glibc", "lockwright-ledger"];

/// A program that both machines run.
struct Case {
    /// Its source, in tests/programs.
    source: &'static str,
    engines: &'static str,
    /// The report says this of it.
    says: &'static str,
    /// What of the report counts.
    part: fn(&str) -> String,
}

const CASES: &[Case] = &[
    // A planted inversion, and its twin that has none.
    Case {
        source: "abba.c",
        engines: "lockdep",
        says: "error[circular-dependency]: `A` and `B` are taken in both orders",
        part: without_places,
    },
    Case {
        source: "inorder.c",
        engines: "lockdep",
        says: "no findings; watched 4 locks",
        part: without_places,
    },
    Case {
        source: "guarded.c",
        engines: "lockdep",
        says: "lockwright: 1 finding (1 guarded)",
        part: without_places,
    },
    Case { source: "deep.c", engines: "lockdep", says: "called from", part: without_places },
    Case {
        source: "two_counted.c",
        engines: "lockmeter",
        says: "4,200 acquisitions, none of them contended",
        part: counts,
    },
    Case {
        source: "two_counted.c",
        engines: "lockdep,lockmeter",
        says: "4,200 acquisitions, none of them contended",
        part: counts,
    },
];

/// The check. Without its tools it is skipped, but not in CI.
///
/// # Errors
/// When a test fails, or a report differs.
pub fn check(extent: Extent) -> Result<(), String> {
    let tools = match Tools::make() {
        Ok(tools) => tools,
        Err(why) => return skip("aarch64", &why),
    };
    let has_turn = |&(number, _): &(usize, &&str)| extent.has(number, PROCESSORS.len());
    let processors = || PROCESSORS.iter().enumerate().filter(has_turn).map(|(_, name)| *name);
    let tested: Vec<_> = TESTED.iter().flat_map(|name| ["--package", name]).collect();
    for processor in processors() {
        let test = ["test", "--profile", "release-test", "--lib", "--tests"];
        tools.cargo(&[&test[..], &tested].concat(), processor)?;
    }
    for library in ["lockwright-preload", "lockwright-swap"] {
        let build = ["build", "--profile", "library", "--package", library, "--lib"];
        tools.cargo(&build, PROCESSORS[0])?;
    }
    tools.build_command()?;
    cargo(&["build", "--package", "lockwright-cli"])?;
    let libraries = [preload_build("", true)?, Tools::built("library", "liblockwright_preload.so")];
    for processor in processors() {
        for case in CASES {
            case.run(&tools, processor, &libraries)?;
            eprintln!("{} by {} as {processor}: the same report", case.source, case.engines);
        }
    }
    let swapped = Swapped::build(&tools)?;
    for processor in processors() {
        swapped.check(&tools, processor)?;
        command::check(&tools, processor)?;
        instructions::print(&tools, processor)?;
    }
    Ok(())
}

impl Case {
    /// Runs the program on both machines, and compares the reports.
    fn run(&self, tools: &Tools, processor: &str, libraries: &[PathBuf; 2]) -> Result<(), String> {
        let here = PathBuf::from("cc");
        let mut reports = Vec::new();
        let sides = [(here, Command::new("env")), (tools.gcc(), tools.emulator(processor))];
        for (side, ((compiler, start), library)) in sides.into_iter().zip(libraries).enumerate() {
            let dir = target_dir().join("aarch64-check").join(side.to_string());
            let _ = fs::remove_dir_all(&dir);
            let ledgers = dir.join("ledgers");
            fs::create_dir_all(&ledgers).map_err(|e| format!("{}: {e}", ledgers.display()))?;
            let program = dir.join("program");
            compile(&compiler, &[], self.source, &program)?;
            self.watch(start, &program, library, &ledgers)?;
            let report = report(&ledgers)?;
            if !report.contains(self.says) {
                return Err(format!(
                    "{} as {processor}: {:?} is missing\n{report}",
                    self.source, self.says
                ));
            }
            let dir = dir.to_string_lossy();
            reports.push((self.part)(&report.replace(&*dir, "")));
        }
        match reports[0] == reports[1] {
            true => Ok(()),
            false => Err(format!(
                "{} as {processor}: the reports differ\nof this machine:\n{}\nof the other:\n{}",
                self.source, reports[0], reports[1]
            )),
        }
    }

    /// Runs the program, started by `start`, under the library.
    fn watch(
        &self,
        mut start: Command,
        program: &Path,
        library: &Path,
        ledgers: &Path,
    ) -> Result<(), String> {
        // The emulator is statically linked: of the variables it makes nothing but the program's.
        if start.get_program() == "env" {
            start.arg(variable("LD_PRELOAD", library));
        } else {
            start.env("LD_PRELOAD", library);
        }
        start.arg(program).env("LOCKWRIGHT_DIR", ledgers).env("LOCKWRIGHT_ENGINES", self.engines);
        let out = start.output().map_err(|e| format!("{start:?}: {e}"))?;
        match out.status.success() {
            true => Ok(()),
            false => {
                Err(format!("{start:?}: {}\n{}", out.status, String::from_utf8_lossy(&out.stderr)))
            }
        }
    }
}

/// What the command of this machine reports of ledgers.
fn report(ledgers: &Path) -> Result<String, String> {
    let mut report = Command::new(target_dir().join("debug/lockwright"));
    report.args(["report", "--all"]).arg(ledgers).current_dir(crate::workspace::root());
    let out = report.output().map_err(|e| format!("{report:?}: {e}"))?;
    let text = String::from_utf8_lossy(&out.stdout) + String::from_utf8_lossy(&out.stderr);
    Ok(text.into_owned())
}
