//! OpenMP's locks and critical sections, which are no pthread locks, are seen under both runtimes.

use std::path::PathBuf;

use crate::harness::{Run, build_by, check, functions, installed, native, under};
use crate::kinds::annotations::{CIRCULAR, finds};

/// What each compiler makes of the program, with the runtime of its own.
fn programs() -> Vec<PathBuf> {
    let compilers = [("gcc", "gcc"), ("clang", "clang libomp-dev")];
    let found = compilers.iter().filter(|(name, package)| installed(&[name], package).is_some());
    found.map(|(name, _)| build_by(name, "openmp.c", &["-fopenmp"])).collect()
}

/// Runs them under the tool, and without it, with the same results.
fn told(what: &str) -> Vec<Run> {
    let runs = programs().into_iter().map(|program| {
        let alone = native(&program).arg(what).run();
        assert_eq!(alone.code(), 0, "{}", alone.stderr);
        let run = check(&program).arg(what).run();
        assert_eq!(run.text(), alone.text(), "{}", run.stderr);
        assert_eq!(run.count("lost"), 0, "{}", run.stderr);
        run
    });
    runs.collect()
}

#[test]
fn named_sections_in_both_orders() {
    for run in told("sections") {
        finds(&run, CIRCULAR, &["critical(left)", "critical(right)"], "the same two locks");
        let seen = functions(run.finding());
        assert!(seen.contains(&"left_then_right") && seen.contains(&"right_then_left"), "{seen:?}");
    }
}

#[test]
fn locks_in_both_orders() {
    for run in told("locks") {
        finds(&run, CIRCULAR, &["first", "second"], "the same two locks");
    }
}

#[test]
fn a_nested_lock_and_a_section_without_a_name() {
    for run in told("nested") {
        finds(&run, CIRCULAR, &["critical", "nested"], "the same two locks");
    }
}

#[test]
fn one_order_is_silent() {
    for run in told("ordered") {
        assert!(run.findings().is_empty(), "{}", run.stderr);
        assert_eq!(run.code(), 0);
    }
}

#[test]
fn sections_are_measured() {
    for program in programs() {
        let run = under("meter", &[] as &[&str], program).arg("sections").run();
        let locks = run.report()["locks"].as_array().unwrap();
        for name in ["critical(left)", "critical(right)"] {
            let lock = locks.iter().find(|lock| lock["name"] == name).expect("it is measured");
            assert_eq!(lock["total"]["acquisitions"], 2, "{}", run.stderr);
        }
    }
}
