//! Threads that are joined with a lock held. Each program that is wrong has a twin that is not.

use crate::findings::missed::{Row, is_told};
use crate::golden::golden;
use crate::harness::{check, check_with, lock_names, program};

/// The expected findings.
const TOLD: &[Row] = &[
    ("join_held.c", "taken", &[("join-with-lock-held", "likely")]),
    ("join_held.c", "released", &[]),
    ("join_held.c", "other", &[]),
    ("join_held.c", "timed", &[("join-with-lock-held", "possible")]),
    ("join_held.c", "tried", &[]),
    ("join_held.c", "posted", &[("join-with-lock-held", "ordered")]),
    ("join_held.c", "chain", &[("circular-dependency", "likely")]),
    ("join_held.c", "cycle", &[("circular-dependency", "likely")]),
    ("join_held.c", "cancelled", &[("join-with-lock-held", "possible")]),
    ("join_held.c", "semaphore", &[("join-with-lock-held", "likely")]),
    ("join_held.c", "given", &[]),
    ("join_held.c", "c11", &[("join-with-lock-held", "likely")]),
    ("join_held.c", "announces", &[("join-with-lock-held", "possible")]),
    ("join_held.c", "signals", &[("join-with-lock-held", "likely")]),
    ("join_held.c", "users", &[("join-with-lock-held", "possible")]),
    ("join_held.c", "enters", &[("join-with-lock-held", "possible")]),
    ("join_again.c", "again", &[("join-with-lock-held", "likely")]),
    ("join_again.c", "counted", &[("join-with-lock-held", "possible")]),
    ("join_again.c", "died", &[]),
    ("join_again.c", "consistent", &[]),
    ("join_again.c", "another", &[("join-with-lock-held", "likely")]),
    ("join_again.c", "lived", &[("join-with-lock-held", "likely")]),
    ("join_held.cc", "kept", &[("join-with-lock-held", "likely")]),
    ("join_held.cc", "fixed", &[]),
];

#[test]
fn who_is_joined_must_not_need_what_is_held() {
    for (source, how, verdicts) in TOLD {
        is_told(source, how, verdicts);
    }
}

#[test]
fn the_end_of_the_thread_is_named() {
    let run = check(program("join_held.c")).arg("taken").run();
    let finding = run.finding();
    assert_eq!(lock_names(finding), ["end of thread 2 (join_held)", "state"]);
    assert_eq!(finding["locks"][1]["kind"], "thread");
    let actions: Vec<_> =
        finding["steps"].as_array().unwrap().iter().map(|step| &step["action"]).collect();
    assert_eq!(actions, ["waits for", "acquires"], "{}", run.stderr);
}

#[test]
fn reports_of_joins_read_well() {
    for (name, source, how) in [
        ("join-held", "join_held.c", "taken"),
        ("join-posted", "join_held.c", "posted"),
        ("join-chain", "join_held.c", "chain"),
        ("join-cycle", "join_held.c", "cycle"),
        ("join-cancelled", "join_held.c", "cancelled"),
        ("join-semaphore", "join_held.c", "semaphore"),
        ("join-announced", "join_held.c", "announces"),
        ("join-users", "join_held.c", "users"),
        ("join-held-cxx", "join_held.cc", "kept"),
    ] {
        golden(name, check_with(&["--all"], program(source)).arg(how));
    }
}
