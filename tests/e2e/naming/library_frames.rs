//! Functions of the standard libraries of C++ and Rust are in no report's text and in no rule that
//! is made of one; the JSON has them.

use std::fs;
use std::path::Path;

use crate::golden::golden;
use crate::harness::{Scratch, build, check, check_with, functions, rust_program};

/// What stands for the insides of the libraries.
const NOISE: [&str; 7] = [
    "__invoke",
    "_M_invoke",
    "_M_run",
    "AssertUnwindSafe",
    "core::ops",
    "short_backtrace",
    "/rustc/",
];

/// Writes the rules for what is found in `program`, which are to suppress it in `other`, too.
fn holds_for(program: &Path, other: &Path) {
    let scratch = Scratch::new();
    let rules = scratch.join("rules.supp");
    let option = format!("--gen-suppressions={}", rules.display());
    let run = check_with(&[option], program).run();
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    let text = fs::read_to_string(&rules).expect("rules");
    for noise in NOISE.iter().chain(&["#", "$_", "std::", "17h"]) {
        assert!(!text.contains(noise), "{noise}: {text}");
    }
    for program in [program, other] {
        let run = check_with(&["--suppressions".as_ref(), rules.as_os_str()], program).run();
        assert_eq!(run.code(), 0, "{text}{}", run.stderr);
    }
}

#[test]
fn of_cxx_are_folded() {
    let [unoptimised, optimised] = ["-O0", "-O2"].map(|level| build("lambdas.cc", &[level]));
    let run = check(&unoptimised).run();
    for noise in NOISE {
        assert!(!run.stderr.contains(noise), "{noise}: {}", run.stderr);
    }
    let functions = functions(run.finding());
    assert!(functions.iter().any(|name| name.contains("__invoke_impl")), "{functions:?}");
    golden("library-frames-cxx", check(&unoptimised));
    holds_for(&unoptimised, &build("lambdas.cc", &["-O1", "-fno-inline"]));
    let run = check(&optimised).run();
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    // Those that are inlined have the scopes that they have elsewhere.
    let functions = self::functions(run.finding());
    let has = |name| functions.contains(&name);
    assert!(has("main::{lambda()}::operator()") && !has("operator()"), "{functions:?}");
    assert!(has("std::__invoke<main()::<lambda()> >"), "{functions:?}");
}

#[test]
fn of_rust_are_folded() {
    let program = rust_program("spawned.rs");
    let run = check(&program).run();
    for noise in NOISE {
        assert!(!run.stderr.contains(noise), "{noise}: {}", run.stderr);
    }
    let functions = functions(run.finding());
    assert!(functions.iter().any(|name| name.contains("short_backtrace")), "{functions:?}");
    golden("library-frames-rust", check(&program));
    holds_for(&program, &program);
}
