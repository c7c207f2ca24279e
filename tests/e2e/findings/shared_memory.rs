//! Locks in memory that processes share: an order of one process and that of another make a cycle.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::harness::{FOUND, Scratch, check, program, run, tidy, tool};

/// What `check` finds, and then `merge` in the ledgers of that run: the verdicts, and the exit code.
fn found(how: &str) -> [(Vec<(String, String)>, i32); 2] {
    let scratch = Scratch::new();
    let json = scratch.join("report.json");
    let reported = |command: Command| {
        let run = run(command);
        let report = tidy(serde_json::from_slice(&fs::read(&json).unwrap()).unwrap());
        let findings = report["findings"].as_array().unwrap().clone();
        (run, findings)
    };
    let ledgers = scratch.join("ledgers");
    let mut check = tool();
    check.args(["check", "--keep", "--json"]).arg(&json).arg("--ledger-dir").arg(&ledgers);
    check.arg("--").arg(program("pshared_orders.c")).arg(how);
    let (checked, findings) = reported(check);
    for finding in &findings {
        let origins = finding["origins"].as_array().unwrap();
        assert!(origins[0]["pid"] != origins[1]["pid"], "{how}: {finding:#}");
        assert!(origins[0].get("run").is_none(), "{how}: {finding:#}");
        assert!(checked.stderr.contains("memory that the processes share"), "{}", checked.stderr);
    }
    let told = |findings: Vec<Value>| {
        let text = |finding: &Value, field: &str| finding[field].as_str().unwrap().to_owned();
        findings.iter().map(|it| (text(it, "kind"), text(it, "grade"))).collect::<Vec<_>>()
    };
    let mut merge = tool();
    merge.args(["merge", "--json"]).arg(&json).arg(&ledgers);
    let (merged, in_all) = reported(merge);
    [(told(findings), checked.code()), (told(in_all), merged.code())]
}

fn cycle(grade: &str) -> Vec<(String, String)> {
    vec![("circular-dependency".to_owned(), grade.to_owned())]
}

#[test]
fn two_processes_take_two_orders() {
    for how in ["both", "array", "rwlocks", "spins", "semaphores", "children", "file"] {
        for found in found(how) {
            assert_eq!(found, (cycle("likely"), FOUND), "{how}");
        }
    }
}

#[test]
fn what_cannot_deadlock_is_not_told() {
    for how in ["same", "spins_same", "semaphores_same", "spin_gate", "semaphore_gate", "readers"] {
        for found in found(how) {
            assert_eq!(found, (vec![], 0), "{how}");
        }
    }
    let [checked, merged] = found("gate");
    assert_eq!(checked, (vec![], 0));
    assert_eq!(merged, (cycle("guarded"), 0));
}

/// A process that posts what it has not taken shows to all that it is no lock.
#[test]
fn a_semaphore_that_one_process_only_posts_is_no_lock() {
    let [checked, _] = found("posted");
    assert_eq!(checked, (vec![], 0));
}

/// Of other memory, or of other locks in the same, only what is true of any two processes is known.
#[test]
fn equal_bytes_of_other_memory_are_other_locks() {
    for how in ["objects", "again"] {
        let [checked, merged] = found(how);
        assert_eq!(checked, (vec![], 0), "{how}");
        assert_eq!(merged, (cycle("possible"), 0), "{how}");
    }
}

#[test]
fn processes_that_may_be_one_after_the_other_are_told_so() {
    for how in ["after", "before", "turns"] {
        for found in found(how) {
            assert_eq!(found, (cycle("possible"), 0), "{how}");
        }
    }
}

/// A child unlocks what its parent locked before the fork: the parent locks it again without a wait, and does not wait for itself.
#[test]
fn a_lock_that_another_process_unlocked_can_be_taken_again() {
    let run = check(program("given_to_child.c")).arg("child").run();
    assert_eq!((run.verdicts(), run.code()), (vec![], 0), "{}", run.stderr);
    let run = check(program("given_to_child.c")).arg("nobody").run();
    assert_eq!(run.verdicts(), [("recursive-locking", "deadlocked")], "{}", run.stderr);
    assert_eq!(run.code(), FOUND);
}
