//! C++: locks that nobody initialises, behind wrappers that are all inlined.

use crate::harness::{FOUND, check, frames, functions, lock_names, program};

#[test]
fn lock_guards_in_both_orders() {
    let run = check(program("cxx_locks.cc")).arg("guard").run();
    assert_eq!(run.text(), "the end\n");
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    let finding = run.finding();
    assert_eq!(lock_names(finding), ["bank::accounts", "bank::journal"]);
    let functions = functions(finding);
    for name in ["bank::deposit", "bank::audit"] {
        assert!(functions.iter().any(|f| f.starts_with(name)), "{name} in {functions:?}");
    }
    // The place shown is in the program's own source, not in the library's headers.
    assert!(run.stderr.contains("cxx_locks.cc:"), "{}", run.stderr);
    assert!(
        frames(finding).any(|f| f["inlined"] == true),
        "std::lock_guard is inlined, and shown all the same: {finding:#}"
    );
    assert_eq!(run.code(), FOUND);
}

#[test]
fn a_scoped_lock_of_both_backs_off() {
    let run = check(program("cxx_locks.cc")).arg("scoped").run();
    assert!(run.findings().is_empty(), "{:#}", run.report());
    assert_eq!(run.code(), 0);
}

#[test]
fn shared_mutexes_in_both_orders() {
    let run = check(program("cxx_locks.cc")).arg("shared").run();
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    assert_eq!(lock_names(run.finding()), ["bank::limits", "bank::rates"]);
    assert_eq!(run.code(), FOUND);
}

#[test]
fn members_of_one_object_are_two_classes() {
    let run = check(program("cxx_locks.cc")).arg("members").run();
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    let finding = run.finding();
    assert_eq!(finding["locks"].as_array().unwrap().len(), 2, "{finding:#}");
    assert_eq!(run.count("classes"), 2, "{:#}", run.report()["summary"]);
    assert_eq!(run.code(), FOUND);
}
