//! A file of cases as a program, and what its cases say in each of the ways to run it.

use std::path::{Path, PathBuf};

use crate::Variable;
use crate::differences::{Case, cases, differences, shown};
use crate::harness::{self, Job, due};

/// The commands of the tool that run programs.
const COMMANDS: &[(&str, &[&str])] =
    &[("check", &["--exit-code", "0"]), ("meter", &[]), ("run", &["--exit-code", "0"])];

/// Its cases leave no room for what is to be recorded, which fails a run that is not told that this
/// is well.
const LEAVES_NO_ROOM: &str = "limits";

/// Names the library that cases load.
const PLUGIN: &str = "PLUGIN";

/// A file of cases.
pub struct Family {
    name: &'static str,
    program: PathBuf,
    plugin: PathBuf,
}

impl Family {
    /// Builds `tests/conformance/<name>.c`.
    pub fn build(name: &'static str) -> Self {
        let plugin = harness::build("../conformance/plugins/plugin.c", &["-shared", "-fPIC"]);
        Self { name, program: harness::build(&format!("../conformance/{name}.c"), &[]), plugin }
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// What its cases say natively, which must not vary.
    pub fn natively(&self, variables: &[Variable]) -> Vec<Case> {
        let run = || self.said(harness::native(&self.program), variables);
        let (once, again) = (run(), run());
        let varies = differences(&once, &again);
        assert!(varies.is_empty(), "{} varies from run to run:\n{}", self.name, shown(&varies));
        for case in &once {
            assert!(case.is_over(), "{} {} does not end by itself", self.name, case.name);
        }
        once
    }

    /// What its cases say with a preloaded library in the tool's place.
    pub fn preloading(&self, library: &Path) -> Vec<Case> {
        self.said(harness::native(&self.program).env("LD_PRELOAD", library), &[])
    }

    /// Fails unless all cases say the same under the tool's commands as natively. The commands take turns.
    pub fn conforms(&self, variables: &[Variable]) {
        let natively = self.natively(variables);
        let mut wrong = String::new();
        for (command, options) in due(COMMANDS, COMMANDS.len()) {
            let allow = (self.name == LEAVES_NO_ROOM).then_some("--allow-incomplete");
            let options: Vec<&str> = options.iter().copied().chain(allow).collect();
            let under = self.said(harness::under(command, &options, &self.program), variables);
            let found = differences(&natively, &under);
            if !found.is_empty() {
                let program = self.program.display();
                wrong += &format!(
                    "natively (-) and under `lockwright {command} -- {program} CASE` (+):\n{}",
                    shown(&found)
                );
            }
        }
        assert!(wrong.is_empty(), "{} with {variables:?}\n{wrong}", self.name);
    }

    /// What comes out of a run of all cases.
    pub fn said(&self, job: Job, variables: &[Variable]) -> Vec<Case> {
        let job = job.env(PLUGIN, &self.plugin);
        let run = variables.iter().fold(job, |job, (name, value)| job.env(name, value)).run();
        assert_eq!(run.code(), 0, "{}", run.stderr);
        cases(&run.text())
    }
}
