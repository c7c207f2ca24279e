//! A file of cases as a program, and what its cases say in each of the ways to run it.

use std::path::{Path, PathBuf};

use crate::Variable;
use crate::differences::{Case, cases, differences, shown};
use crate::harness::{self, Job};

/// The commands of the tool that run programs.
const COMMANDS: &[(&str, &[&str])] =
    &[("check", &["--exit-code", "0"]), ("meter", &[]), ("run", &["--exit-code", "0"])];

/// A file of cases.
pub struct Family {
    name: &'static str,
    program: PathBuf,
}

impl Family {
    /// Builds `tests/conformance/<name>.c`.
    pub fn build(name: &'static str) -> Self {
        Self { name, program: harness::build(&format!("../conformance/{name}.c"), &[]) }
    }

    /// What its cases say natively, which must not vary.
    pub fn natively(&self, variables: &[Variable]) -> Vec<Case> {
        let run = || said(with(harness::native(&self.program), variables));
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
        said(harness::native(&self.program).env("LD_PRELOAD", library))
    }

    /// Fails unless all cases say the same under each of the tool's commands as natively.
    pub fn conforms(&self, variables: &[Variable]) {
        let natively = self.natively(variables);
        let mut wrong = String::new();
        for (command, options) in COMMANDS {
            let under = said(with(harness::under(command, options, &self.program), variables));
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
}

fn with(mut job: Job, variables: &[Variable]) -> Job {
    for (name, value) in variables {
        job = job.env(name, value);
    }
    job
}

/// What came out of a run of all cases.
fn said(job: Job) -> Vec<Case> {
    let run = job.run();
    assert_eq!(run.code(), 0, "{}", run.stderr);
    cases(&run.text())
}
