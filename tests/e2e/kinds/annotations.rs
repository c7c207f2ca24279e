//! Annotations: C and C++ through include/lockwright.h, Rust through the crate `lockwright`. Each
//! program does the same without the tool.

use std::path::PathBuf;

use crate::golden::golden;
use crate::harness::{
    FOUND, Run, build, check, check_with, example, functions, lock_names, native, tests_dir,
};

fn include() -> String {
    tests_dir().join("../include").canonicalize().expect("include folder").display().to_string()
}

fn annotated(source: &str) -> PathBuf {
    build(source, &["-I", &include()])
}

/// Runs a program under the tool, and without it, with the same result.
fn told(source: &str, what: &str) -> Run {
    let program = annotated(source);
    let alone = native(&program).arg(what).run();
    assert_eq!((alone.text(), alone.code()), (format!("{what}: done\n"), 0), "{}", alone.stderr);
    let run = check(program).arg(what).run();
    assert_eq!(run.text(), alone.text(), "{}", run.stderr);
    run
}

/// The only finding: its kind and grade, the names of its locks, and what its evidence says.
pub fn finds(run: &Run, verdict: (&str, &str), locks: &[&str], evidence: &str) {
    assert_eq!(run.verdicts(), [verdict], "{}", run.stderr);
    let finding = run.finding();
    assert_eq!(lock_names(finding), locks, "{}", run.stderr);
    let says = finding["evidence"].to_string();
    assert!(says.contains(evidence), "{evidence} in {says}");
    assert_eq!(run.code(), if verdict.1 == "possible" { 0 } else { FOUND });
}

fn clean(run: &Run) {
    assert!(run.findings().is_empty(), "{}", run.stderr);
    assert_eq!(run.code(), 0);
}

pub const CIRCULAR: (&str, &str) = ("circular-dependency", "likely");

#[test]
fn locks_go_by_the_names_they_are_given() {
    let run = told("annotated.c", "names");
    finds(&run, CIRCULAR, &["the first", "the second"], "the same two locks");
    // With the spinlock; the classes that the two had without their names are none any more.
    assert_eq!(run.count("classes"), 3, "{:#}", run.report()["summary"]);
    assert_eq!(run.finding()["locks"][0]["kind"], "mutex");
}

#[test]
fn a_declared_order_is_held_to() {
    let run = told("annotated.c", "order");
    let declared = "declared order `catalogue` < `table` at annotated.c:";
    finds(&run, CIRCULAR, &["catalogue", "table"], declared);
    assert!(functions(run.finding()).contains(&"b_then_a"), "{}", run.stderr);
}

#[test]
fn declared_orders_add_up_and_know_variables() {
    let run = told("annotated.c", "far");
    finds(&run, CIRCULAR, &["a", "b"], "declared order `nobody` < `b` at annotated.c:");
}

#[test]
fn a_declared_order_that_is_kept_is_no_finding() {
    clean(&told("annotated.c", "obeyed"));
}

#[test]
fn subclasses_are_classes() {
    let run = told("annotated.c", "subclass");
    finds(&run, CIRCULAR, &["node", "node/1"], "the same two locks");
}

#[test]
fn a_nest_lock_allows_any_order() {
    clean(&told("annotated.c", "nest"));
}

#[test]
fn a_nest_lock_that_is_not_held_allows_nothing() {
    let run = told("annotated.c", "unnested");
    assert_eq!(run.verdicts(), [CIRCULAR], "{}", run.stderr);
    assert_eq!(run.code(), FOUND);
}

#[test]
fn assertions_that_fail_are_reported() {
    let run = told("annotated.c", "assert");
    let verdict = ("lock-not-held", "likely");
    assert_eq!(run.verdicts(), [verdict, verdict], "{}", run.stderr);
    let titles: Vec<_> = run.findings().iter().map(|f| f["title"].as_str().unwrap()).collect();
    assert_eq!(
        titles,
        [
            "`a` is held where the program asserts that it is not",
            "`b` is not held where the program asserts that it is"
        ]
    );
    assert_eq!(run.code(), FOUND);
}

#[test]
fn assertions_that_hold_are_silent() {
    clean(&told("annotated.c", "asserted"));
}

#[test]
fn a_pinned_lock_must_not_be_released() {
    let run = told("annotated.c", "pin");
    // Taking it again does not bring the pin back: unpinning is all right, if late.
    assert_eq!(run.verdicts(), [("unpinned", "likely")], "{}", run.stderr);
    assert_eq!(lock_names(run.finding()), ["a"]);
}

#[test]
fn a_pinned_lock_must_not_be_given_up_in_a_wait() {
    let run = told("annotated.c", "pinwait");
    assert_eq!(run.verdicts(), [("unpinned", "likely")], "{}", run.stderr);
}

#[test]
fn pins_nest() {
    clean(&told("annotated.c", "unpinned"));
}

#[test]
fn sleeping_inside_a_spinlock_is_an_invalid_wait_context() {
    let run = told("annotated.c", "wait");
    finds(&run, ("invalid-wait-context", "likely"), &["a", "spin"], "may sleep");
}

#[test]
fn spinning_inside_a_sleeping_lock_is_fine() {
    clean(&told("annotated.c", "waited"));
}

#[test]
fn locks_of_the_programs_own_are_validated() {
    let run = told("annotated_own.cc", "orders");
    finds(&run, CIRCULAR, &["limits", "rates"], "the same two locks");
    assert_eq!(run.count("acquisitions"), 4);
}

#[test]
fn own_locks_and_mutexes_make_one_order() {
    finds(&told("annotated_own.cc", "mixed"), CIRCULAR, &["book", "rates"], "the same two locks");
}

#[test]
fn own_locks_know_readers_trylocks_and_recursion() {
    for what in ["readers", "try", "recursive"] {
        clean(&told("annotated_own.cc", what));
    }
}

#[test]
fn own_locks_are_unlocked_by_their_holder() {
    let run = told("annotated_own.cc", "unlock");
    assert_eq!(run.verdicts(), [("bad-unlock-balance", "likely")], "{}", run.stderr);
    assert_eq!(lock_names(run.finding()), ["rates"]);
}

#[test]
fn memory_that_is_freed_takes_its_own_locks_with_it() {
    let run = told("annotated_own.cc", "freed");
    clean(&run);
    assert_eq!(run.count("locks"), 4, "two more than are named: {}", run.stderr);
    let run = told("annotated_own.cc", "held");
    assert_eq!(run.verdicts(), [("held-lock-freed", "likely")], "{}", run.stderr);
}

#[test]
fn own_locks_that_deadlock_are_reported_while_they_do() {
    let run = check(annotated("annotated_own.cc")).arg("deadlock").run();
    assert_eq!(run.verdicts(), [("circular-dependency", "deadlocked")], "{}", run.stderr);
    assert_eq!(lock_names(run.finding()), ["limits", "rates"]);
    assert_eq!(run.code(), FOUND);
}

#[test]
fn a_resource_context_needs_one_thread_only() {
    let run = told("annotated_context.c", "reclaim");
    let verdict = ("circular-dependency", "possible");
    finds(&run, verdict, &["cache", "reclaim"], "waits for itself");
    clean(&told("annotated_context.c", "outside"));
}

#[test]
fn a_wait_that_another_thread_ends_is_an_order() {
    let run = told("annotated_context.c", "completion");
    let verdict = ("circular-dependency", "possible");
    finds(&run, verdict, &["done", "jobs"], "whoever completes `done` counts as holding it");
    clean(&told("annotated_context.c", "separate"));
}

#[test]
fn code_that_is_not_position_independent_is_heard_too() {
    let flags = ["-I", &include(), "-fno-pie", "-no-pie"];
    let run = check(build("annotated.c", &flags)).arg("names").run();
    assert_eq!(lock_names(run.finding()), ["the first", "the second"]);
}

#[test]
fn rust_programs_tell_of_their_locks() {
    let program = example("spinlock");
    let alone = native(&program).run();
    assert_eq!((alone.text().as_str(), alone.code()), ("the end\n", 0));

    let run = check(&program).run();
    assert_eq!(run.text(), "the end\n");
    finds(&run, CIRCULAR, &["accounts", "journal"], "the same two locks");
    assert!(run.stderr.contains("spinlock.rs:"), "the place is the program's own: {}", run.stderr);

    let run = check_with(&["--on-deadlock=kill"], &program).arg("deadlock").run();
    assert_eq!(run.verdicts(), [("circular-dependency", "deadlocked")], "{}", run.stderr);
    assert_eq!(run.code(), FOUND);
}

#[test]
fn reports_read_well() {
    for (name, source, how) in [
        ("declared-order", "annotated.c", "order"),
        ("resource-context", "annotated_context.c", "reclaim"),
        ("completion", "annotated_context.c", "completion"),
    ] {
        golden(name, check(annotated(source)).arg(how));
    }
}
