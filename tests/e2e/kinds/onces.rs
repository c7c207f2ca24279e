//! `pthread_once`: its control is held while the routine runs, and other callers wait for that. Each
//! program that is wrong has a twin that is not.

use crate::golden::golden;
use crate::harness::{Job, check, check_with, lock_names, program};

fn job(how: &str) -> Job {
    check(program("once_lock.cc")).arg(how)
}

#[test]
fn what_a_routine_takes_must_not_be_held_in_a_call() {
    for (how, control) in [("inverted", "control"), ("c11", "c11_control")] {
        is_inverted(how, control);
    }
    for how in ["fixed", "other", "ends"] {
        is_clean(how);
    }
}

/// The next call runs the routine again.
#[test]
fn a_routine_that_an_exception_left_has_not_run() {
    is_inverted("left", "control");
    is_clean("throws");
}

fn is_inverted(how: &str, control: &str) {
    let run = job(how).run();
    assert!(run.text().ends_with("the end\n"), "{how}: {}", run.stderr);
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{how}: {}", run.stderr);
    let names = lock_names(run.finding());
    assert!(names.contains(&control) && names.contains(&"registry"), "{how}: {names:?}");
}

fn is_clean(how: &str) {
    let run = job(how).run();
    assert!(run.text().ends_with("the end\n"), "{how}: {}", run.stderr);
    assert!(run.findings().is_empty(), "{how}: {}", run.stderr);
}

/// Each such control is known by itself; what another of its place does says nothing of it.
#[test]
fn controls_that_are_no_variables_are_told_apart() {
    for how in ["heap", "stack"] {
        let run = job(how).run();
        assert!(run.text().ends_with("the end\n"), "{how}: {}", run.stderr);
        assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{how}: {}", run.stderr);
        assert!(lock_names(run.finding()).contains(&"registry"), "{how}: {}", run.stderr);
    }
    for how in ["heap_fixed", "crowded", "reused", "tasks", "many"] {
        let run = job(how).run();
        assert!(run.text().ends_with("the end\n"), "{how}: {}", run.stderr);
        assert!(run.findings().is_empty(), "{how}: {}", run.stderr);
    }
}

/// Not silent because nothing was seen: counted, as the routine has run before.
#[test]
fn a_routine_that_has_run_before_there_was_another_thread_is_counted() {
    let run = check_with(&["--all"], program("once_lock.cc")).arg("first").run();
    assert_eq!(run.verdicts(), [("circular-dependency", "ordered")], "{}", run.stderr);
}

#[test]
fn who_waits_for_a_routine_that_waits_is_told_while_it_hangs() {
    for (how, verdict) in [
        ("hangs", ("circular-dependency", "deadlocked")),
        ("routines", ("circular-dependency", "deadlocked")),
        ("itself", ("recursive-locking", "deadlocked")),
    ] {
        let run = job(how).run();
        assert_eq!(run.verdicts(), [verdict], "{how}: {}", run.stderr);
    }
}

#[test]
fn reports_of_routines_read_well() {
    golden("once-inverted", job("inverted"));
    golden("once-hangs", job("hangs"));
    golden("once-routines", job("routines"));
    golden("once-itself", job("itself"));
    golden("once-heap", job("heap"));
    golden("once-first", check_with(&["--all"], program("once_lock.cc")).arg("first"));
}
