//! Reader-writer locks and condition waits.

use crate::golden::golden;
use crate::harness::{FOUND, check, functions, lock_names, program, thread_names};

#[test]
fn writers_in_both_orders_are_likely() {
    let run = check(program("rwlock.c")).arg("write").run();
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    assert_eq!(lock_names(run.finding()), ["catalogue", "index_"]);
    assert_eq!(run.finding()["locks"][0]["kind"], "rwlock");
    assert_eq!(run.code(), FOUND);
}

#[test]
fn readers_inside_writers_in_both_orders_are_likely() {
    let run = check(program("rwlock.c")).arg("mixed").run();
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    assert_eq!(run.code(), FOUND);
}

#[test]
fn readers_alone_cannot_deadlock() {
    let run = check(program("rwlock.c")).arg("read").run();
    assert!(run.findings().is_empty(), "{:#}", run.report());
    assert_eq!(run.count("acquisitions"), 4);
    assert_eq!(run.code(), 0);
}

/// The signaller first needs a lock whose holder needs the kept lock: three threads, and none can
/// go on.
#[test]
fn a_signaller_may_need_what_another_has_who_waits_for_the_kept_lock() {
    let run = check(program("wait_kept.c")).arg("through").run();
    assert_eq!(run.text(), "the end\n", "{}", run.stderr);
    assert_eq!(run.verdicts(), [("wait-with-lock-held", "likely")], "{}", run.stderr);
    assert_eq!(lock_names(run.finding()), ["inner", "other", "outer"], "{}", run.stderr);
    assert_eq!(
        thread_names(run.finding()),
        ["keeper", "signaller", "signaller", "third"],
        "{}",
        run.stderr
    );
    assert_eq!(run.code(), FOUND);
    let run = check(program("wait_kept.c")).arg("otherwise").run();
    assert_eq!(run.text(), "the end\n", "{}", run.stderr);
    assert_eq!(run.verdicts(), [("wait-with-lock-held", "ordered")], "{}", run.stderr);
}

#[test]
fn reports_of_chains_to_a_wait_read_well() {
    golden("wait-kept-through", check(program("wait_kept.c")).arg("through"));
}

#[test]
fn a_condition_wait_alone_is_no_finding() {
    let run = check(program("condvar.c")).arg("clean").run();
    assert!(run.findings().is_empty(), "{:#}", run.report());
    assert_eq!(run.code(), 0);
}

#[test]
fn a_condition_wait_reacquires_with_the_rest_still_held() {
    let run = check(program("condvar.c")).arg("inverted").run();
    assert_eq!(
        run.verdicts(),
        // The producer signals without `registry`: that wait ends.
        [("circular-dependency", "likely"), ("wait-with-lock-held", "ordered")],
        "{}",
        run.stderr
    );
    let finding = &run.findings()[0];
    assert_eq!(lock_names(finding), ["queue", "registry"]);
    assert_eq!(thread_names(finding).len(), 2);
    let functions = functions(finding);
    assert!(functions.contains(&"consumer") && functions.contains(&"accountant"), "{functions:?}");
    let actions: Vec<_> = finding["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["action"].as_str().unwrap())
        .collect();
    assert!(actions.iter().any(|action| action.contains("condition")), "{actions:?}");
    assert_eq!(run.code(), FOUND);
}
