//! The table of checks.

use super::{Extent, cargo_tests, features, smoke};
use crate::workspace::{cargo, target_dir};
use crate::{
    aarch64, bpf, completions, debug_lockdep, floors, install, man, package, promela, prose, roots,
    tsan,
};

/// A check.
pub struct Check {
    pub name: &'static str,
    pub what: &'static str,
    pub lane: Lane,
    /// It runs with `--all`, or by its name: before a release, and by those who change what it checks.
    pub is_long: bool,
    /// Runs it, whole or the part whose turn it is.
    pub run: fn(Extent) -> Result<(), String>,
}

/// Where a check runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// In the process that the user started.
    First,
    /// In a second process, at the same time.
    Second,
}

/// All checks. In the first lane the cheap ones come first. In the second it is those whose builds have folders of their
/// own: cargo has others wait while the first lane builds its tests.
pub const CHECKS: &[Check] = &[
    Check {
        name: "format",
        lane: Lane::First,
        is_long: false,
        what: "rustfmt has nothing to change",
        run: |_| cargo(&["fmt", "--all", "--check"]),
    },
    Check {
        name: "floors",
        lane: Lane::First,
        is_long: false,
        what: "no crate and no module uses one above it, and no new files use each other",
        run: |_| floors::check(),
    },
    Check {
        name: "prose",
        lane: Lane::First,
        is_long: false,
        what: "documents, comments, help and reports are plain English, except what is listed",
        run: |_| prose::check(),
    },
    Check {
        name: "features",
        lane: Lane::First,
        is_long: false,
        what: "xtask is built with the features of the tests, so that nothing is built twice",
        run: |_| features::check(),
    },
    Check {
        name: "bpf",
        lane: Lane::First,
        is_long: false,
        what: "the BPF objects that are shipped are what clang makes of their sources",
        run: |_| bpf::check(),
    },
    Check {
        name: "tests",
        lane: Lane::First,
        is_long: false,
        what: "unit tests, and end to end: small programs, servers and other real programs, kills at any moment",
        run: cargo_tests::tests,
    },
    Check {
        name: "release",
        lane: Lane::Second,
        is_long: false,
        what: "the tests of the locks, torture, the engines and C programs, optimised as what is shipped",
        run: cargo_tests::release,
    },
    Check {
        name: "tsan",
        lane: Lane::Second,
        is_long: false,
        what: "ThreadSanitizer finds no data race in the engines and the ledger, and finds a planted one",
        run: |_| tsan::run(),
    },
    Check {
        name: "promela",
        lane: Lane::Second,
        is_long: false,
        what: "Spin finds no error in the model of the hybrid mutex, and each fault planted there",
        run: promela::run,
    },
    Check {
        name: "package",
        lane: Lane::Second,
        is_long: false,
        what: "the command is installed offline, from the packages of the published crates alone",
        run: package::run,
    },
    Check {
        name: "demo",
        lane: Lane::Second,
        is_long: false,
        what: "the README's first command finds the planted deadlock",
        run: |_| cargo(&["run", "--release", "--package", "lockwright-cli", "--", "demo"]),
    },
    Check {
        name: "clippy",
        lane: Lane::Second,
        is_long: false,
        what: "clippy has nothing to say, in any target of the workspace",
        run: cargo_tests::clippy,
    },
    Check {
        name: "locks",
        lane: Lane::Second,
        is_long: false,
        what: "the tests of the locks",
        run: cargo_tests::locks,
    },
    Check {
        name: "models",
        lane: Lane::Second,
        is_long: false,
        what: "loom's models hold, and notice each weakened ordering and each wake left out of the locks",
        run: cargo_tests::models,
    },
    Check {
        name: "no-std",
        lane: Lane::Second,
        is_long: false,
        what: "the locks build for a platform without std",
        run: |_| cargo(&["check", "--package", "lockwright", "--no-default-features"]),
    },
    Check {
        name: "events",
        lane: Lane::Second,
        is_long: false,
        what: "locks that count lock events do, and write them at exit",
        run: |_| {
            let counting = ["--features", "lock_events"];
            let test = ["test", "--package", "lockwright", "--test", "lock_events"];
            cargo_tests::cargo_test(&[&test[..], &counting].concat())
        },
    },
    Check {
        name: "debug",
        lane: Lane::Second,
        is_long: false,
        what: "the library built with debug-lockdep counts, and checks lockdep itself",
        run: |_| debug_lockdep::run(),
    },
    Check {
        name: "pages",
        lane: Lane::Second,
        is_long: false,
        what: "man pages and completions can be made",
        run: |_| pages(),
    },
    Check {
        name: "install",
        lane: Lane::Second,
        is_long: false,
        what: "C and C++ projects build and run with what is installed, by cmake and pkg-config",
        run: |_| install::check::run(),
    },
    Check {
        name: "deb",
        lane: Lane::Second,
        is_long: false,
        what: "a Debian package and an archive are made, need no glibc after 2.31, and are installed and used",
        run: |_| install::deb::check(),
    },
    Check {
        name: "roots",
        lane: Lane::Second,
        is_long: false,
        what: "the shipped command finds and measures in roots of other Debian suites, with other versions of glibc",
        run: roots::check,
    },
    Check {
        name: "aarch64",
        lane: Lane::Second,
        is_long: true,
        what: "on an emulated 64-bit Arm the locks' tests hold, swapped locks keep threads apart, and programs have the same findings and counts as here",
        run: aarch64::check,
    },
    Check {
        name: "bench",
        lane: Lane::Second,
        is_long: false,
        what: "the benchmarks run",
        run: smoke::run,
    },
];

/// They are made from the command line's definition, so they cannot be out of date; they can be
/// incomplete.
fn pages() -> Result<(), String> {
    man::run(&man::ManArgs { out: target_dir().join("man") })?;
    completions::run(&completions::CompletionsArgs {
        out: target_dir().join("completions"),
        shell: None,
    })
}
